#include "sweep/reuse.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"
#include "search/propose.h"
#include "search/trial.h"
#include "sweep/sweep_folder.h"

namespace kedge::sweep {

std::string digest_program(const Path& folder, const std::string& program,
                           const std::vector<std::string>& command) {
  Digest digest;
  const auto add = [&](const std::string& word) {
    const Result<std::string> text =
        word.empty() ? Result<std::string>("") : read_file(folder / word);
    digest.add(text ? *text : word);
    digest.add(std::string_view("\0", 1));
  };
  add(program);
  for (const std::string& word : command) {
    add(word);
  }
  return digest.text();
}

std::string code_of(const SweepFolder& folder) {
  const SweepFacts& facts = folder.facts();
  return digest_program(facts.folder, facts.program, folder.plan().command);
}

std::optional<TrialResult> find_identical(const SweepFolder& folder, const nlohmann::json& values) {
  const std::string identity = search::identity_of(values);
  for (const Path& path : SweepFolder::list(folder.path().parent_path())) {
    auto other = SweepFolder::open(path.string(), path.parent_path());
    if (!other || other->facts().id == folder.facts().id ||
        other->facts().code != folder.facts().code ||
        other->plan().metric.name != folder.plan().metric.name) {
      continue;
    }
    const auto trials = other->read_trials();
    if (!trials) {
      continue;
    }
    for (const TrialView& view : *trials) {
      if (view.trial.state == search::TrialState::Finished &&
          search::identity_of(view.trial.values) == identity) {
        TrialResult result = *view.result;
        result.reused = fmt::format("{}/{}", other->facts().id, view.trial.number);
        return result;
      }
    }
  }
  return std::nullopt;
}

}  // namespace kedge::sweep
