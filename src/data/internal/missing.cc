#include "data/internal/missing.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "data/get.h"

namespace kedge::data {

Error missing_data(const config::DataConfig& config, const std::string& what) {
  std::error_code ignored;
  // Where data get puts a set, it may not be yet; a path that somebody wrote is meant.
  const bool is_written = Path(config.path) != Path(config.root) / config.name;
  const bool is_there = !is_written || std::filesystem::exists(config.path, ignored);
  const std::string message =
      is_there ? fmt::format("no {} in '{}'", what, config.path)
               : fmt::format("data.path: there is no file or folder '{}'", config.path);
  const auto names = list_gettable();
  const bool can_get = std::ranges::find(names, config.name) != names.end();
  if (!can_get) {
    return {ErrorKind::NotFound, message,
            "set data.path to the folder or file that holds the data"};
  }
  return {ErrorKind::NotFound, message,
          fmt::format("run `kedge data get {}`, or set data.path to the folder that has it",
                      config.name)};
}

}  // namespace kedge::data
