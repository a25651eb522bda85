#include "track/run_facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/inside.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/internal/attempt_file.h"
#include "track/internal/json_text.h"
#include "track/internal/yaml_json.h"
#include "track/names.h"

namespace kedge::track {
namespace {

constexpr std::string_view kLogPrefix = "events-";
constexpr std::string_view kLogEnding = ".klog";

std::int64_t time_us(const std::string& utc) {
  const auto seconds = parse_utc(utc);
  return seconds ? static_cast<std::int64_t>(std::llround(*seconds * 1e6)) : 0;
}

Result<nlohmann::json> read_run_json(const Path& run) {
  auto json = nlohmann::json::parse(KEDGE_TRY(read_inside(run, "run.json")), nullptr, false);
  if (!json.is_object() || text_of(json, "format") != "kedge-run") {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} does not describe a run", (run / "run.json").string()));
  }
  return Result<nlohmann::json>(std::in_place, std::move(json));
}

nlohmann::json attempts_json(const std::vector<AttemptFacts>& attempts) {
  nlohmann::json list = nlohmann::json::array();
  for (const AttemptFacts& attempt : attempts) {
    nlohmann::json changes = nlohmann::json::array();
    for (const ConfigChange& change : attempt.changes) {
      changes.push_back({{"key", change.key}, {"before", change.before}, {"after", change.after}});
    }
    nlohmann::json json = {{"number", attempt.number},
                           {"host", attempt.host},
                           {"started_us", time_us(attempt.started)},
                           {"ended_us", time_us(attempt.ended)},
                           {"state", attempt.state},
                           {"changes", std::move(changes)}};
    if (attempt.from_step) {
      json["from_step"] = *attempt.from_step;
    }
    list.push_back(std::move(json));
  }
  return list;
}

// Of the newest attempt that has one.
nlohmann::json read_environment(const Path& run, int attempts) {
  for (int attempt = attempts; attempt > 0; --attempt) {
    const std::string file =
        attempt == 1 ? "environment.json" : fmt::format("environment.a{}.json", attempt);
    if (const auto text = read_inside(run, file)) {
      auto json = nlohmann::json::parse(*text, nullptr, false);
      if (json.is_object()) {
        return json;
      }
    }
  }
  return nlohmann::json::object();
}

void add_file(std::vector<std::string>& files, const Path& run, const std::string& name) {
  std::error_code ignored;
  // Names with ".tmp" and a number are being written: see replace_file().
  const bool is_part = name.find(".tmp") != std::string::npos;
  if (!is_part && std::filesystem::symlink_status(run / name, ignored).type() ==
                      std::filesystem::file_type::regular) {
    files.push_back(name);
  }
}

void add_folder(std::vector<std::string>& files, const Path& run, const char* folder) {
  std::error_code error;
  if (std::filesystem::is_symlink(run / folder, error)) {
    return;
  }
  std::filesystem::recursive_directory_iterator entry(run / folder, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with('.')) {
      add_file(files, run, entry->path().lexically_relative(run).string());
    }
  }
}

// "a12-r3" as (12, 3); those of other programs come last.
std::pair<int, int> order_of(const std::string& writer) {
  int attempt = 0;
  int rank = 0;
  const char* const end = writer.data() + writer.size();
  if (writer.starts_with('a')) {
    const auto first = std::from_chars(writer.data() + 1, end, attempt);
    if (first.ec == std::errc{} && end - first.ptr > 2 &&
        std::from_chars(first.ptr + 2, end, rank).ptr == end) {
      return {attempt, rank};
    }
  }
  return {std::numeric_limits<int>::max(), 0};
}

}  // namespace

Result<RunName> read_run_name(const Path& run) {
  const nlohmann::json description = KEDGE_TRY(read_run_json(run));
  RunName name{.project = text_of(description, "project"), .id = text_of(description, "id")};
  KEDGE_TRY(check_folder_name("project", name.project));
  KEDGE_TRY(check_folder_name("id", name.id));
  return name;
}

Result<nlohmann::json> read_run_facts(const Path& run) {
  const nlohmann::json description = KEDGE_TRY(read_run_json(run));
  const auto attempts = list_attempts(run);
  nlohmann::json facts = {{"name", text_of(description, "name")},
                          {"group", text_of(description, "group")},
                          {"job_type", text_of(description, "job_type")},
                          {"notes", text_of(description, "notes")},
                          {"config_hash", text_of(description, "config_hash")},
                          {"state", text_of(description, "state")},
                          {"created_us", time_us(text_of(description, "created"))},
                          {"source", "kedge"}};
  if (const auto tags = description.find("tags"); tags != description.end() && tags->is_array()) {
    facts["tags"] = *tags;
  }
  if (facts["state"] == name_of(RunState::Running) && !attempts.empty()) {
    facts["state"] = attempts.back().state;
  }
  const std::string finished = text_of(description, "finished");
  if (!finished.empty()) {
    facts["ended_us"] = time_us(finished);
  } else if (facts["state"] != name_of(RunState::Running) && !attempts.empty()) {
    facts["ended_us"] = std::llround(attempts.back().heartbeat_s * 1e6);
  }
  nlohmann::json environment = read_environment(run, attempts.empty() ? 1 : attempts.back().number);
  facts["host"] = attempts.empty() ? text_of(environment, "host") : attempts.back().host;
  facts["user"] = attempts.empty() ? text_of(environment, "user") : attempts.back().user;
  facts["environment"] = std::move(environment);
  if (const auto text = read_inside(run, "config.yaml")) {
    if (auto config = yaml_to_json(*text); config && config->is_object()) {
      facts["config"] = std::move(*config);
    }
  }
  facts["attempts"] = attempts_json(attempts);
  return Result<nlohmann::json>(std::in_place, std::move(facts));
}

std::uint64_t stamp_run_facts(const Path& run) {
  std::string text;
  const auto add = [&](const Path& path, bool with_time) {
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0) {
      // Files are replaced, never changed in place: a new one has another number.
      text += fmt::format("{} {} ", status.st_ino, status.st_size);
      text += with_time ? fmt::format("{}.{} ", status.st_mtim.tv_sec, status.st_mtim.tv_nsec) : "";
    }
  };
  add(run / "run.json", true);
  add(run / "config.yaml", true);
  const auto numbers = list_attempt_numbers(run);
  // Without the time: its holder touches it every few seconds as a sign of life.
  add(attempt_path(run, numbers && !numbers->empty() ? numbers->back() : 1), false);
  text += numbers ? std::to_string(numbers->size()) : "";
  return xxh3_64(as_bytes(text));
}

std::optional<std::int64_t> find_sign_of_life(const Path& run) {
  const auto numbers = list_attempt_numbers(run);
  struct stat status{};
  if (!numbers || numbers->empty() ||
      ::stat(attempt_path(run, numbers->back()).c_str(), &status) != 0) {
    return std::nullopt;
  }
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

std::vector<std::string> list_writers(const Path& run) {
  std::vector<std::string> writers;
  std::error_code error;
  std::filesystem::directory_iterator entry(run, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kLogPrefix) && name.ends_with(kLogEnding) &&
        name.size() > kLogPrefix.size() + kLogEnding.size()) {
      writers.push_back(
          name.substr(kLogPrefix.size(), name.size() - kLogPrefix.size() - kLogEnding.size()));
    }
  }
  std::ranges::sort(writers, [](const std::string& a, const std::string& b) {
    return std::make_tuple(order_of(a), a) < std::make_tuple(order_of(b), b);
  });
  return writers;
}

Path log_path(const Path& run, const std::string& writer) {
  return run / fmt::format("{}{}{}", kLogPrefix, writer, kLogEnding);
}

std::vector<std::string> list_run_files(const Path& run) {
  std::vector<std::string> files;
  add_folder(files, run, "media");
  std::error_code error;
  std::filesystem::directory_iterator entry(run, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("config.") || (name.starts_with("code.") && name.ends_with(".patch"))) {
      add_file(files, run, name);
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace kedge::track
