#include "jobs/dag.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "core/nearest.h"

namespace kedge::jobs {
namespace {

constexpr auto kEdgeNames = std::to_array<std::string_view>({"ok", "any", "failed"});
const std::vector<std::string> kFileKeys = {"name", "job", "steps"};
const std::vector<std::string> kStepKeys = {"config", "set", "command", "job", "after", "retries"};

// DAGMan and file systems take these.
bool is_step_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
}

class Parser {
 public:
  explicit Parser(const std::string& where) : where_(where) {}

  Result<Dag> parse(const YAML::Node& root) {
    KEDGE_TRY(check_keys(root, kFileKeys));
    dag_.name = text(root["name"], "dag");
    if (!is_step_name(dag_.name)) {
      return refuse<Dag>(root["name"], fmt::format("'{}' is no name", dag_.name),
                         "letters, digits, '-' and '_'");
    }
    file_job_ = KEDGE_TRY(read_job(root["job"]));
    const YAML::Node steps = root["steps"];
    if (!steps || !steps.IsMap() || steps.size() == 0) {
      return refuse<Dag>(root, "'steps' must be a map of steps",
                         "steps: {train: {config: config.yaml}}");
    }
    for (const auto& entry : steps) {
      KEDGE_TRY(read_step(entry.first, entry.second));
    }
    KEDGE_TRY(check_edges(steps));
    KEDGE_TRY(sort_steps());
    return std::move(dag_);
  }

 private:
  template <typename T>
  Result<T> refuse(const YAML::Node& node, std::string_view message, std::string hint = {}) const {
    const YAML::Mark mark = node ? node.Mark() : YAML::Mark::null_mark();
    return fail(ErrorKind::Usage,
                mark.is_null() ? fmt::format("{}: {}", where_, message)
                               : fmt::format("{}:{}: {}", where_, mark.line + 1, message),
                std::move(hint));
  }

  static std::string text(const YAML::Node& node, std::string fallback = {}) {
    return node && node.IsScalar() ? node.Scalar() : fallback;
  }

  Result<void> check_keys(const YAML::Node& map, const std::vector<std::string>& known) const {
    if (!map.IsMap()) {
      return refuse<void>(map, "this must be a map of keys",
                          fmt::format("known are {}", fmt::join(known, ", ")));
    }
    for (const auto& entry : map) {
      const std::string key = text(entry.first, "?");
      if (std::ranges::find(known, key) == known.end()) {
        const Error error = unknown_name("key", key, known);
        return refuse<void>(entry.first, error.message, error.hint);
      }
    }
    return {};
  }

  // A list of words; a single text is a list of one.
  Result<std::vector<std::string>> words(const YAML::Node& node, std::string_view key) const {
    std::vector<std::string> result;
    if (!node || node.IsNull()) {
      return result;
    }
    if (node.IsScalar()) {
      return std::vector{node.Scalar()};
    }
    for (const auto& word : node) {
      if (!node.IsSequence() || !word.IsScalar()) {
        return refuse<std::vector<std::string>>(node,
                                                fmt::format("'{}' must be a list of words", key));
      }
      result.push_back(word.Scalar());
    }
    return result;
  }

  // The keys of the job section, as words of a command line; nested lists in YAML's flow form.
  Result<std::vector<std::string>> read_job(const YAML::Node& node) const {
    std::vector<std::string> result;
    if (!node || node.IsNull()) {
      return result;
    }
    if (!node.IsMap()) {
      return refuse<std::vector<std::string>>(node, "'job' must be a map", "job: {gpus: 1}");
    }
    for (const auto& entry : node) {
      YAML::Emitter value;
      value << YAML::Flow << entry.second;
      result.push_back(fmt::format("job.{}={}", text(entry.first, "?"), value.c_str()));
    }
    return result;
  }

  Result<void> read_after(const YAML::Node& node, DagStep& step) const {
    if (!node || node.IsNull()) {
      return {};
    }
    if (!node.IsMap()) {
      for (const std::string& name : KEDGE_TRY(words(node, "after"))) {
        step.after.push_back({.step = name});
      }
      return {};
    }
    for (const auto& entry : node) {
      const std::string edge = text(entry.second);
      const auto found = std::ranges::find(kEdgeNames, edge);
      if (found == kEdgeNames.end()) {
        return refuse<void>(entry.second, fmt::format("'{}' is none of ok, any, failed", edge));
      }
      step.after.push_back(
          {.step = text(entry.first), .edge = static_cast<After>(found - kEdgeNames.begin())});
    }
    return {};
  }

  Result<void> read_step(const YAML::Node& key, const YAML::Node& node) {
    DagStep step{.name = text(key)};
    if (!is_step_name(step.name)) {
      return refuse<void>(key, fmt::format("'{}' is no name of a step", step.name),
                          "letters, digits, '-' and '_'");
    }
    KEDGE_TRY(check_keys(node, kStepKeys));
    step.config = text(node["config"]);
    step.set = KEDGE_TRY(words(node["set"], "set"));
    step.command = KEDGE_TRY(words(node["command"], "command"));
    if (step.config.empty() == step.command.empty()) {
      return refuse<void>(key, fmt::format("step '{}' needs a config or a command", step.name),
                          "config: config.yaml, or command: [./prepare.sh, data]");
    }
    step.job = file_job_;
    const auto own = KEDGE_TRY(read_job(node["job"]));
    step.job.insert(step.job.end(), own.begin(), own.end());
    const std::string retries = text(node["retries"], "0");
    if (retries.empty() || retries.size() > 3 ||
        retries.find_first_not_of("0123456789") != retries.npos) {
      return refuse<void>(node["retries"], "'retries' must be a whole number");
    }
    step.retries = std::stoll(retries);
    KEDGE_TRY(read_after(node["after"], step));
    dag_.steps.push_back(std::move(step));
    return {};
  }

  Result<void> check_edges(const YAML::Node& steps) const {
    std::vector<std::string> names;
    for (const DagStep& step : dag_.steps) {
      names.push_back(step.name);
    }
    for (const DagStep& step : dag_.steps) {
      for (const DagAfter& after : step.after) {
        if (std::ranges::find(names, after.step) == names.end()) {
          const Error error = unknown_name("step", after.step, names);
          return refuse<void>(steps[step.name]["after"], error.message, error.hint);
        }
      }
    }
    return {};
  }

  // In the file's order as far as that can be.
  Result<void> sort_steps() {
    std::vector<DagStep> sorted;
    std::set<std::string> placed;
    while (!dag_.steps.empty()) {
      const auto next = std::ranges::find_if(dag_.steps, [&](const DagStep& step) {
        return std::ranges::all_of(
            step.after, [&](const DagAfter& after) { return placed.contains(after.step); });
      });
      if (next == dag_.steps.end()) {
        std::vector<std::string> names;
        for (const DagStep& step : dag_.steps) {
          names.push_back(step.name);
        }
        return refuse<void>(
            {}, fmt::format("steps wait for each other in a circle: {}", fmt::join(names, ", ")));
      }
      placed.insert(next->name);
      sorted.push_back(std::move(*next));
      dag_.steps.erase(next);
    }
    dag_.steps = std::move(sorted);
    return {};
  }

  const std::string& where_;
  Dag dag_;
  std::vector<std::string> file_job_;
};

}  // namespace

bool Dag::is_plain() const {
  return std::ranges::all_of(steps, [](const DagStep& step) {
    return std::ranges::all_of(step.after,
                               [](const DagAfter& after) { return after.edge == After::Ok; });
  });
}

bool looks_like_dag(const std::string& yaml_text) {
  try {
    const YAML::Node root = YAML::Load(yaml_text);
    return root.IsMap() && root["steps"];
  } catch (const YAML::Exception&) {
    return false;
  }
}

Result<Dag> parse_dag(const std::string& yaml_text, const std::string& where) {
  try {
    return Parser(where).parse(YAML::Load(yaml_text));
  } catch (const YAML::Exception& error) {
    return fail(ErrorKind::Usage,
                fmt::format("{}:{}: not YAML: {}", where, error.mark.line + 1, error.msg));
  }
}

}  // namespace kedge::jobs
