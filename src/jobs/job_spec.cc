#include "jobs/job_spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/load.h"
#include "config/section.h"
#include "config/value.h"
#include "jobs/secrets.h"

namespace kedge::jobs {
namespace {

constexpr auto kAfterNames = std::to_array<std::string_view>({"ok", "any", "failed"});

After after_from(const std::string& name) {
  const auto found = std::ranges::find(kAfterNames, name);
  return found == kAfterNames.end() ? After::Ok : static_cast<After>(found - kAfterNames.begin());
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// The section as "job.cpus=4" words, without what is the default: the same texts as on a command
// line, so that a book outlives new keys.
std::vector<std::string> section_words(const config::JobConfig& wants) {
  config::JobConfig copy = wants;
  config::JobConfig defaults;
  std::vector<config::Field> fields;
  std::vector<config::Field> default_fields;
  config::Section section("job", fields);
  copy.describe(section);
  config::Section default_section("job", default_fields);
  defaults.describe(default_section);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string value = config::value_as_yaml(fields[i]);
    if (value != config::value_as_yaml(default_fields[i])) {
      words.push_back(fields[i].path + "=" + value);
    }
  }
  return words;
}

Result<void> check_variables(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    if (!is_variable_name(name)) {
      return fail(ErrorKind::Usage, fmt::format("job.env: '{}' is no name of a variable", name));
    }
    if (is_secret_name(name)) {
      return fail(
          ErrorKind::Usage,
          fmt::format("job.env holds {}, which would be readable in the submit file", name),
          "set it in your shell and name it in job.secrets: kedge submit hands it on in a file "
          "that only you can read; for the tracking server there is track.token_file");
    }
  }
  return {};
}

Result<void> check_secret_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!is_variable_name(name)) {
      return fail(ErrorKind::Usage, fmt::format("job.secrets: '{}' is no name of a variable", name),
                  "name the variables of your shell, not their values: job.secrets='[HF_TOKEN]'");
    }
  }
  return {};
}

}  // namespace

std::string_view name_of(After after) {
  return kAfterNames[static_cast<std::size_t>(after)];
}

bool is_secret_name(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  constexpr auto kParts =
      std::to_array<std::string_view>({"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY",
                                       "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"});
  const auto has = [&](std::string_view part) { return upper.find(part) != std::string::npos; };
  // These name a file or a library's switch, not the secret itself.
  if (upper.ends_with("_FILE") || upper.ends_with("_PATH") || upper.starts_with("TOKENIZERS_")) {
    return false;
  }
  return std::ranges::any_of(kParts, has);
}

Result<void> check_spec(const JobSpec& spec) {
  if (spec.command.empty() || spec.command.front().empty()) {
    return fail(ErrorKind::Usage, "a job needs a command");
  }
  if (!is_plain_name(spec.name)) {
    return fail(ErrorKind::Usage, fmt::format("'{}' is no name for a job", spec.name),
                "letters, digits, '-', '_' and '.'");
  }
  if (!spec.items.empty() && std::cmp_not_equal(spec.items.size(), spec.tasks)) {
    return fail(ErrorKind::Usage,
                fmt::format("{} items for {} tasks", spec.items.size(), spec.tasks));
  }
  const bool has_lines = std::ranges::any_of(
      spec.items, [](const std::string& item) { return item.find('\n') != std::string::npos; });
  if (has_lines) {
    return fail(ErrorKind::Usage, "an item of an array is one line");
  }
  KEDGE_TRY(check_variables(spec.wants.env));
  KEDGE_TRY(check_secret_names(spec.wants.secrets));
  for (const std::string& input : spec.wants.inputs) {
    std::error_code ignored;
    const bool is_address = input.find("://") != std::string::npos;
    if (!is_address && !std::filesystem::exists(spec.folder / input, ignored)) {
      return fail(ErrorKind::Usage, fmt::format("job.inputs: '{}' is not there", input));
    }
  }
  return {};
}

nlohmann::json to_json(const JobSpec& spec) {
  nlohmann::json after = nlohmann::json::array();
  for (const Dependency& dependency : spec.after) {
    after.push_back({{"job", dependency.key}, {"after", name_of(dependency.after)}});
  }
  return {{"name", spec.name},
          {"command", spec.command},
          {"folder", spec.folder.string()},
          {"wants", section_words(spec.wants)},
          {"variables", spec.variables},
          {"tasks", spec.tasks},
          {"items", spec.items},
          {"after", after},
          {"files", spec.files},
          {"keys", spec.keys},
          {"is_kedge", spec.is_kedge},
          {"per_gpu", spec.per_gpu},
          {"shared", spec.shared},
          {"estimate_s", spec.estimate_s}};
}

Result<JobSpec> spec_from_json(const nlohmann::json& json) {
  try {
    JobSpec spec;
    json.at("name").get_to(spec.name);
    json.at("command").get_to(spec.command);
    spec.folder = json.at("folder").get<std::string>();
    const auto words = json.at("wants").get<std::vector<std::string>>();
    spec.wants = KEDGE_TRY(config::load_config({.overrides = words}))->job;
    json.at("variables").get_to(spec.variables);
    json.at("tasks").get_to(spec.tasks);
    json.at("items").get_to(spec.items);
    const nlohmann::json& after = json.at("after");
    for (const auto& entry : after) {
      spec.after.push_back({.key = entry.at("job").get<std::string>(),
                            .after = after_from(entry.at("after").get<std::string>())});
    }
    json.at("files").get_to(spec.files);
    spec.keys = json.value("keys", tracker_keys());
    json.at("is_kedge").get_to(spec.is_kedge);
    spec.per_gpu = json.value("per_gpu", std::int64_t{1});
    spec.shared = json.value("shared", std::int64_t{0});
    spec.estimate_s = json.value("estimate_s", 0.0);
    return spec;
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorKind::Corrupt, fmt::format("not a job: {}", error.what()));
  }
}

}  // namespace kedge::jobs
