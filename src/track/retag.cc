#include "track/retag.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "track/attempt.h"
#include "track/internal/run_folder.h"

namespace kedge::track {

Result<std::vector<std::string>> retag_run(
    const Path& run,
    const std::function<std::vector<std::string>(std::vector<std::string> tags)>& retag) {
  if (const auto holder = KEDGE_TRY(find_live_holder(run))) {
    return fail(ErrorKind::Usage,
                fmt::format("{} works on {} (process {})", holder->host, run.string(), holder->pid),
                "its tags are those of its config until it ends");
  }
  auto json = nlohmann::json::parse(KEDGE_TRY(read_file(run / "run.json")), nullptr, false);
  if (!json.is_object()) {
    return fail(ErrorKind::Corrupt, fmt::format("{} is not JSON", (run / "run.json").string()));
  }
  std::vector<std::string> tags;
  for (const nlohmann::json& tag : json.value("tags", nlohmann::json::array())) {
    if (tag.is_string()) {
      tags.push_back(tag.get<std::string>());
    }
  }
  tags = retag(std::move(tags));
  json["tags"] = tags;
  KEDGE_TRY(write_description(run, json));
  return tags;
}

}  // namespace kedge::track
