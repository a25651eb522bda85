// `kedge runs tag`, `kedge runs rm` and `kedge runs restore`.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/run_source.h"
#include "cli/runs.h"
#include "cli/server_calls.h"
#include "cli/shared/arguments.h"
#include "core/log.h"

namespace kedge::cli {

Result<void> tag_run(Args args) {
  const VerbHelp help = {.usage = "kedge runs tag RUN TAG ... [--remove TAG]",
                         .text = "Adds tags to a run, or removes them, and prints those it has.",
                         .flags = {{"--remove", "TAG", "remove this tag; may be repeated"},
                                   kRunsDirFlag,
                                   kServerFlag,
                                   kTokenFlag,
                                   kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  const auto& words = arguments->positionals();
  if (words.empty() || (words.size() == 1 && !arguments->has("--remove"))) {
    return fail(ErrorKind::Usage, "runs tag needs a run and tags",
                fmt::format("usage: {}", help.usage));
  }
  const auto source = KEDGE_TRY(open_runs(*arguments));
  const auto tags = KEDGE_TRY(source->tag(words.front(), [&](std::vector<std::string> tags) {
    for (auto word = words.begin() + 1; word != words.end(); ++word) {
      if (std::ranges::find(tags, *word) == tags.end()) {
        tags.push_back(*word);
      }
    }
    for (const std::string& gone : arguments->values("--remove")) {
      std::erase(tags, gone);
    }
    return tags;
  }));
  if (arguments->has("--json")) {
    fmt::print("{}\n", nlohmann::json(tags).dump());
  } else {
    fmt::print("{}\n", fmt::join(tags, ", "));
  }
  return {};
}

namespace {

std::string label_of(const nlohmann::json& run) {
  return fmt::format("{}/{} ({})", run["project"].get<std::string>(), run["id"].get<std::string>(),
                     run["name"].get<std::string>());
}

// What a server gives at once; the same command again takes the rest.
constexpr std::size_t kMostAtOnce = 10'000;

// What to call each run that is meant: the words, or the runs that the query picks.
Result<std::vector<std::string>> find_words(RunSource& source, const Arguments& arguments) {
  if (!arguments.has("--filter") && !arguments.has("--project")) {
    return arguments.positionals();
  }
  const nlohmann::json answer = KEDGE_TRY(source.search({.project = arguments.value("--project"),
                                                         .filter = arguments.value("--filter"),
                                                         .limit = kMostAtOnce}));
  // A misspelt name would pick all that do not have it.
  if (!answer["warnings"].empty()) {
    return fail(ErrorKind::Usage, answer["warnings"].front(), "nothing was removed");
  }
  std::vector<std::string> words;
  for (const nlohmann::json& run : answer["runs"]) {
    words.push_back(run.contains("path") ? run["path"].get<std::string>()
                                         : fmt::format("{}/{}", run["project"].get<std::string>(),
                                                       run["id"].get<std::string>()));
  }
  return words;
}

}  // namespace

Result<void> remove_runs(Args args) {
  const VerbHelp help = {
      .usage = "kedge runs rm RUN ... --yes\n       kedge runs rm --filter QUERY --yes",
      .text = "Removes runs. A server's run goes to the trash first; a folder goes for good.",
      .flags = {{"--yes", "", "do it; without, only say what would be removed"},
                kRunFilterFlag,
                kRunProjectFlag,
                {"--for-good", "", "of a server's run too, with its files, at once"},
                kRunsDirFlag,
                kServerFlag,
                kTokenFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  const bool is_query = arguments->has("--filter") || arguments->has("--project");
  if (arguments->positionals().empty() != is_query) {
    return fail(ErrorKind::Usage, "runs rm needs runs, or a filter that picks them",
                fmt::format("usage: {}", help.usage));
  }
  const auto source = KEDGE_TRY(open_runs(*arguments));
  const auto words = KEDGE_TRY(find_words(*source, *arguments));
  if (words.empty()) {
    say("no run matches");
    return {};
  }
  const bool is_for_good = arguments->has("--for-good") || !source->has_trash();
  for (const std::string& word : words) {
    const std::string label = label_of(KEDGE_TRY(source->load(word)));
    if (!arguments->has("--yes")) {
      say("would remove {}", label);
      continue;
    }
    KEDGE_TRY(source->remove(word, is_for_good));
    if (is_for_good) {
      say("removed {}", label);
    } else {
      say("{} is in the trash; kedge runs restore {} brings it back", label, word);
    }
  }
  if (!arguments->has("--yes")) {
    say("nothing was removed; add --yes");
  }
  return {};
}

Result<void> restore_runs(Args args) {
  const VerbHelp help = {
      .usage = "kedge runs restore RUN ... --server URL",
      .text = "Takes runs of a server out of its trash; kedge runs ls --trash lists them.",
      .flags = {kRunsDirFlag, kServerFlag, kTokenFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().empty()) {
    return fail(ErrorKind::Usage, "runs restore needs runs", fmt::format("usage: {}", help.usage));
  }
  const auto source = KEDGE_TRY(open_runs(*arguments));
  for (const std::string& word : arguments->positionals()) {
    KEDGE_TRY(source->restore(word));
    say("restored {}", label_of(KEDGE_TRY(source->load(word))));
  }
  return {};
}

}  // namespace kedge::cli
