#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/runs.h"
#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "track/history.h"
#include "track/run_list.h"

namespace kedge::cli {
namespace {

// RFC 4180: quoted where a comma, a quote or a line end would be misread.
std::string quote(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

// JSON has no NaN and no infinity: they are given as text.
nlohmann::json value_json(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(fmt::format("{}", value));
}

void print_curves(const track::History& history, bool as_json) {
  if (!as_json) {
    fmt::print("key,step,value,attempt\n");
    for (const auto& [key, curve] : history.curves) {
      for (const track::Point& point : curve.points) {
        fmt::print("{},{},{},{}\n", quote(key), point.step, point.value, point.attempt);
      }
    }
    return;
  }
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [key, curve] : history.curves) {
    nlohmann::json& points = json[key] = nlohmann::json::array();
    for (const track::Point& point : curve.points) {
      points.push_back({{"step", point.step},
                        {"value", value_json(point.value)},
                        {"time_us", point.time_us},
                        {"attempt", point.attempt}});
    }
  }
  print_json(json);
}

Result<void> metrics(Args args) {
  const VerbHelp help = {.usage = "kedge runs metrics RUN",
                         .text =
                             "Prints every value of the newest curve as CSV. RUN: a run's folder, "
                             "id or name.",
                         .flags = {{"--key", "K", "only this metric"}, kRunsDirFlag, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1 || !arguments->overrides().empty()) {
    return fail(ErrorKind::Usage, "runs metrics needs one run",
                fmt::format("usage: {}", help.usage));
  }
  const Path run = KEDGE_TRY(
      track::find_run_folder(arguments->positionals().front(), arguments->value("--dir", "runs")));
  const track::History history = KEDGE_TRY(
      track::read_history(run, {.key = arguments->value("--key"), .with_replaced = false}));
  for (const std::string& problem : history.problems) {
    warn("{}", problem);
  }
  print_curves(history, arguments->has("--json"));
  return {};
}

}  // namespace

int run_runs(Args args) {
  const VerbHelp help = {.usage =
                             "kedge runs ls [DIR]\n       "
                             "kedge runs show RUN\n       "
                             "kedge runs compare RUN RUN ...\n       "
                             "kedge runs metrics RUN [--key K]\n       "
                             "kedge runs export RUN [--format F] [--out PATH]\n       "
                             "kedge runs import FILE|FOLDER ...\n       "
                             "kedge runs tag RUN TAG ...\n       "
                             "kedge runs rm RUN ... --yes\n       "
                             "kedge runs restore RUN ...",
                         .text =
                             "What runs there are, what they are and came to; in folders here or "
                             "(ls, show, compare, tag, rm,\nrestore) on a tracking server. "
                             "`kedge runs VERB --help` says more.",
                         .flags = {}};
  static const std::map<std::string, Result<void> (*)(Args)> kVerbs = {
      {"ls", list_runs},    {"show", show_run},     {"compare", compare_runs},
      {"metrics", metrics}, {"export", export_run}, {"import", import_runs},
      {"tag", tag_run},     {"rm", remove_runs},    {"restore", restore_runs}};
  const auto verb = args.empty() ? kVerbs.end() : kVerbs.find(args.front());
  if (verb == kVerbs.end()) {
    std::vector<std::string> names;
    for (const auto& [name, run] : kVerbs) {
      names.push_back(name);
    }
    return help_or_unknown(args, help, names);
  }
  const auto done = verb->second(args.subspan(1));
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
