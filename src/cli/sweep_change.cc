// `kedge sweep stop`, `pause`, `resume`, `cancel`, `retry` and `merge`.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/shared/arguments.h"
#include "cli/sweep.h"
#include "core/file.h"
#include "core/log.h"
#include "core/result.h"
#include "search/propose.h"
#include "search/trial.h"
#include "sweep/sweep_folder.h"

namespace kedge::cli {
namespace {

struct ControlWord {
  std::string_view name;
  std::string_view text;
  sweep::SweepState state;
};

constexpr ControlWord kWords[] = {
    {"stop", "No more trials are handed out; those that run go on to their end.",
     sweep::SweepState::Stopped},
    {"pause", "No trials are handed out until `kedge sweep resume`; those that run go on.",
     sweep::SweepState::Paused},
    {"resume", "Trials are handed out again.", sweep::SweepState::Running},
    {"cancel", "No more trials are handed out, and those that run are stopped.",
     sweep::SweepState::Cancelled},
};

Result<void> retry_trials(const Arguments& arguments) {
  const auto sweep = KEDGE_TRY(open_sweep_of(arguments));
  const bool all_failed = arguments.has("--failed");
  std::set<std::int64_t> numbers;
  for (const std::string& text : arguments.values("--trial")) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
      return fail(ErrorKind::Usage, fmt::format("--trial: '{}' is not a whole number", text));
    }
    numbers.insert(number);
  }
  if (!all_failed && numbers.empty()) {
    return fail(ErrorKind::Usage, "say which trials: --failed, or --trial N");
  }
  std::int64_t count = 0;
  for (const sweep::TrialView& view : KEDGE_TRY(sweep->read_trials())) {
    const bool is_failed = view.trial.state == search::TrialState::Failed;
    const bool is_meant = (all_failed && is_failed) || numbers.contains(view.trial.number);
    if (!is_meant) {
      continue;
    }
    if (view.trial.state == search::TrialState::Finished) {
      return fail(ErrorKind::Usage,
                  fmt::format("trial {} has finished; only failed and stopped trials are run "
                              "again",
                              view.trial.number));
    }
    count += KEDGE_TRY(sweep->retry(view.trial.number)) ? 1 : 0;
  }
  say("kedge: {} trials are open again; `kedge agent {}` works on them", count, sweep->facts().id);
  return {};
}

// Where the first sweep is: one that exists, or a copy on a server of the second.
Result<std::unique_ptr<sweep::Sweep>> open_target(const Arguments& arguments) {
  const auto& words = arguments.positionals();
  if (words.size() == 2) {
    return open_sweep(arguments, words[0]);
  }
  const auto server = server_of(arguments);
  if (words.size() != 1 || !server) {
    return fail(ErrorKind::Usage, "merge needs two sweeps, or one and a server",
                "kedge sweep merge INTO FROM; kedge sweep merge FROM --server URL");
  }
  const auto from =
      KEDGE_TRY(sweep::SweepFolder::open(words[0], arguments.value("--dir", "sweeps")));
  const std::string text = KEDGE_TRY(read_file(from->path() / from->facts().file));
  return KEDGE_TRY(sweep::RemoteSweep::copy(KEDGE_TRY(place_of(*server, arguments)), *from, text));
}

// Finished trials of the second sweep become trials of the first, unless it has their values.
Result<void> merge(const Arguments& arguments) {
  const auto into = KEDGE_TRY(open_target(arguments));
  const auto from = KEDGE_TRY(
      sweep::SweepFolder::open(arguments.positionals().back(), arguments.value("--dir", "sweeps")));
  if (into->plan().metric.name != from->plan().metric.name ||
      into->plan().metric.goal != from->plan().metric.goal) {
    return fail(ErrorKind::Usage, fmt::format("the sweeps have different metrics: '{}' and '{}'",
                                              into->plan().metric.name, from->plan().metric.name));
  }
  std::int64_t count = 0;
  for (const sweep::TrialView& view : KEDGE_TRY(from->read_trials())) {
    if (view.trial.state != search::TrialState::Finished) {
      continue;
    }
    const std::string identity = search::identity_of(view.trial.values);
    for (;;) {
      const auto here = KEDGE_TRY(into->read_trials());
      const bool is_known = std::ranges::any_of(here, [&](const sweep::TrialView& known) {
        return search::identity_of(known.trial.values) == identity;
      });
      const auto number = static_cast<std::int64_t>(here.size()) + 1;
      if (is_known) {
        break;
      }
      if (KEDGE_TRY(into->add_finished(number, view, from->facts().id))) {
        ++count;
        break;
      }
    }
  }
  say("kedge: {} trials of {} are now also in {}", count, from->facts().id, into->place());
  return {};
}

template <typename Act>
int with_arguments(Args args, const VerbHelp& help, Act act) {
  const auto arguments = parse_or_help(args, help);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  const Result<void> done = act(**arguments);
  return done ? kExitDone : report(done.error());
}

}  // namespace

int run_sweep_control(const std::string& word, Args args) {
  const ControlWord* meant = kWords;
  while (meant->name != word) {
    ++meant;
  }
  const std::string usage = fmt::format("kedge sweep {} ID [options]", word);
  const VerbHelp help = {
      .usage = usage, .text = meant->text, .flags = {kServerFlag, kTokenFlag, kSweepDirFlag}};
  return with_arguments(args, help, [&](const Arguments& arguments) -> Result<void> {
    const auto sweep = KEDGE_TRY(open_sweep_of(arguments));
    const auto before = KEDGE_TRY(sweep->read_control());
    if (before.state == sweep::SweepState::Cancelled && word == "pause") {
      return fail(ErrorKind::Usage, "the sweep is cancelled; `kedge sweep resume` opens it again");
    }
    KEDGE_TRY(sweep->write_control({meant->state, word == "resume" ? "" : "by the user"}));
    say("kedge: sweep {} is {}", sweep->facts().id, sweep::name_of(meant->state));
    return {};
  });
}

int run_sweep_retry(Args args) {
  return with_arguments(args,
                        {.usage = "kedge sweep retry ID --failed",
                         .text = "Opens trials that failed again; their runs go on where they were "
                                 "saved.",
                         .flags = {{"--failed", "", "all that failed"},
                                   {"--trial", "N", "this one; may be repeated"},
                                   kServerFlag,
                                   kTokenFlag,
                                   kSweepDirFlag}},
                        retry_trials);
}

int run_sweep_merge(Args args) {
  return with_arguments(
      args,
      {.usage = "kedge sweep merge INTO FROM\n       kedge sweep merge FROM --server URL",
       .text = "Takes the finished trials of a folder's sweep into another, or "
               "to a server under its own id.",
       .flags = {kServerFlag, kTokenFlag, kSweepDirFlag}},
      merge);
}

}  // namespace kedge::cli
