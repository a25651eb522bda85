#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/shared/arguments.h"
#include "cli/shared/json_output.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/result.h"
#include "core/signals.h"
#include "core/units.h"
#include "track/server_link.h"
#include "track/sync.h"

namespace kedge::cli {
namespace {

const VerbHelp kSyncHelp = {
    .usage = "kedge sync [DIR|RUN ...] --server URL",
    .text =
        "Sends run folders to a tracking server: those under DIR (runs), or single ones by folder, "
        "id or\nname. Only what the server lacks is sent, as often as you like; at the end counts "
        "and digests of\nboth sides are compared.",
    .flags = {{"--server", "URL", "the tracking server ($KEDGE_SERVER)"},
              {"--token-file", "FILE",
               "a file with a token for it; else $KEDGE_TOKEN, or your own server's key"},
              {"--jobs", "N", "runs sent at a time (4)"},
              {"--checkpoints", "", "send checkpoints too, as versions of an artifact"},
              {"--dry-run", "", "only say what would be sent"},
              {"--dir", "DIR", "where ids and names are looked up (runs)"},
              kJsonFlag}};

Result<std::vector<Path>> find_runs(const Arguments& arguments) {
  const std::string dir = arguments.value("--dir", "runs");
  std::vector<std::string> words = arguments.positionals();
  if (words.empty()) {
    words.push_back(dir);
  }
  std::vector<Path> runs;
  for (const std::string& word : words) {
    for (Path& run : KEDGE_TRY(track::find_run_folders(word, dir))) {
      runs.push_back(std::move(run));
    }
  }
  if (runs.empty()) {
    return fail(ErrorKind::NotFound, fmt::format("there are no runs in {}", words.front()),
                "`kedge runs ls` shows the runs there are");
  }
  return runs;
}

nlohmann::json report_json(const track::SyncReport& report) {
  nlohmann::json logs = nlohmann::json::array();
  for (const track::LogReport& log : report.logs) {
    logs.push_back({{"writer", log.writer},
                    {"records", log.records},
                    {"sent", log.sent},
                    {"digest", log.digest},
                    {"server_records", log.server_records},
                    {"server_digest", log.server_digest},
                    {"equal", log.is_equal()}});
  }
  return {{"path", report.run.string()}, {"project", report.name.project},
          {"id", report.name.id},        {"logs", std::move(logs)},
          {"files", report.files_sent},  {"checkpoints", report.checkpoints_sent},
          {"problems", report.problems}, {"notes", report.notes},
          {"equal", report.is_proven()}};
}

struct Totals {
  std::uint64_t records = 0;
  std::uint64_t sent = 0;
  std::uint64_t files = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t missing = 0;  // on the server
  std::size_t unproven = 0;
  std::size_t failed = 0;
  bool is_interrupted = false;
};

Totals sum(const std::vector<track::SyncReport>& reports) {
  Totals totals;
  for (const track::SyncReport& report : reports) {
    totals.records += report.records();
    totals.sent += report.sent();
    totals.files += report.files_sent;
    totals.checkpoints += report.checkpoints_sent;
    totals.unproven += report.is_proven() ? 0 : 1;
    totals.failed += report.problems.empty() ? 0 : 1;
    totals.is_interrupted |= report.is_interrupted;
    for (const track::LogReport& log : report.logs) {
      totals.missing += log.records > log.server_records ? log.records - log.server_records : 0;
    }
  }
  return totals;
}

std::string count_runs(std::size_t count) {
  return fmt::format("{} run{}", count, count == 1 ? "" : "s");
}

void print_reports(const std::vector<track::SyncReport>& reports, const Totals& totals,
                   const std::string& url) {
  nlohmann::json list = nlohmann::json::array();
  for (const track::SyncReport& report : reports) {
    list.push_back(report_json(report));
  }
  const nlohmann::json json = {{"server", url},
                               {"records", totals.records},
                               {"sent", totals.sent},
                               {"files", totals.files},
                               {"missing", totals.missing},
                               {"equal", totals.unproven == 0},
                               {"checkpoints", totals.checkpoints},
                               {"runs", std::move(list)}};
  print_json(json);
}

void print_text(const std::vector<track::SyncReport>& reports, const Totals& totals,
                const std::string& url, bool is_dry_run) {
  for (const track::SyncReport& report : reports) {
    for (const auto* list : {&report.problems, &report.notes}) {
      for (const std::string& line : *list) {
        warn("{}: {}", report.run.string(), line);
      }
    }
  }
  if (is_dry_run) {
    fmt::print("{}: {} of {} records are not on {}\n", count_runs(reports.size()), totals.missing,
               totals.records, url);
    return;
  }
  const std::string checkpoints = totals.checkpoints == 0
                                      ? ""
                                      : fmt::format(", {} checkpoint{}", totals.checkpoints,
                                                    totals.checkpoints == 1 ? "" : "s");
  fmt::print("{}: {} records, {}; {} records and {} files{} were new to {}\n",
             count_runs(reports.size()), totals.records,
             totals.unproven == 0 ? "digests equal"
                                  : fmt::format("{} NOT proven equal", count_runs(totals.unproven)),
             totals.sent, totals.files, checkpoints, url);
}

Result<int> sync(const Arguments& arguments) {
  const char* const given = std::getenv("KEDGE_SERVER");
  const std::string url = arguments.value("--server", given == nullptr ? "" : given);
  if (url.empty()) {
    return fail(ErrorKind::Usage, "sync needs a server",
                "give --server http://HOST:PORT, or set $KEDGE_SERVER");
  }
  const std::vector<Path> runs = KEDGE_TRY(find_runs(arguments));
  const StopSignals signals;
  track::SyncOptions options{
      .server = KEDGE_TRY(track::find_server(url, arguments.value("--token-file"))),
      .jobs = static_cast<int>(KEDGE_TRY(arguments.number("--jobs", 4, /*least=*/1))),
      .is_dry_run = arguments.has("--dry-run"),
      .with_checkpoints = arguments.has("--checkpoints"),
      .should_stop = [&] { return signals.requested().has_value(); }};
  const auto total = static_cast<std::int64_t>(track::count_log_bytes(runs));
  std::vector<track::SyncReport> reports;
  {
    Progress progress("sync", total, "bytes");
    std::int64_t done = 0;
    options.on_bytes = [&](std::uint64_t bytes) {
      done += static_cast<std::int64_t>(bytes);
      if (progress.advance(done, done)) {
        progress.draw(render_bytes({static_cast<std::uint64_t>(done)}));
      }
    };
    options.on_wait = [&](const Error& error) {
      progress.clear();
      warn("{}; trying again", error.message);
    };
    reports = KEDGE_TRY(track::sync_runs(runs, options));
    progress.clear();
  }
  const Totals totals = sum(reports);
  if (arguments.has("--json")) {
    print_reports(reports, totals, options.server.url);
  } else {
    print_text(reports, totals, options.server.url, options.is_dry_run);
  }
  if (totals.is_interrupted) {
    return kExitRunMeAgain;
  }
  return totals.failed == 0 ? kExitDone : kExitFailed;
}

}  // namespace

int run_sync(Args args) {
  const auto arguments = parse_or_help(args, kSyncHelp);
  if (!arguments) {
    return report(arguments.error());
  }
  if (!*arguments) {
    return kExitDone;
  }
  if (!(*arguments)->overrides().empty()) {
    return report({ErrorKind::Usage,
                   fmt::format("unexpected word '{}'", (*arguments)->overrides().front()),
                   fmt::format("usage: {}", kSyncHelp.usage)});
  }
  const auto exit_code = sync(**arguments);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace kedge::cli
