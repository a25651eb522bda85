#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/units.h"
#include "store/backup.h"

namespace kedge::cli {
namespace {

constexpr Flag kDataFlag{"--data", "DIR", "the server's folder (kedge-data)"};
constexpr Flag kDbFlag{"--db", "URL", "as the server's --db (SQLite in DIR)"};
constexpr Flag kBlobsFlag{"--blobs", "WHERE", "as the server's --blobs (DIR/blobs)"};

// A bar over the blobs; how many there are is known only when the first one is done.
store::BlobProgress blob_bar(std::optional<Progress>& bar) {
  return [&bar](std::size_t done, std::size_t total) {
    if (!bar) {
      bar.emplace("blobs", static_cast<std::int64_t>(total), "blobs");
    }
    const auto count = static_cast<std::int64_t>(done);
    if (bar->advance(count, count)) {
      bar->draw("");
    }
  };
}

Result<void> fail_for(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    warn("{}", problem);
  }
  return problems.empty() ? Result<void>()
                          : fail(ErrorKind::Corrupt, fmt::format("{} problem{}", problems.size(),
                                                                 problems.size() == 1 ? "" : "s"));
}

Result<void> copy(Args args, bool is_restore) {
  const VerbHelp help = {
      .usage = is_restore ? "kedge server restore BACKUP" : "kedge server backup FOLDER",
      .text = is_restore ? "Makes a server's folder from a backup. It must not hold a store yet."
                         : "Copies the store, also while the server runs. A folder with an older "
                           "backup is\nbrought up to date: only blobs it does not have are copied.",
      .flags = {kDataFlag, kDbFlag, kBlobsFlag, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1 || !arguments->overrides().empty()) {
    return fail(ErrorKind::Usage, "one folder is needed", fmt::format("usage: {}", help.usage));
  }
  const Path data = arguments->value("--data", "kedge-data");
  const Path other = arguments->positionals().front();
  std::optional<Progress> bar;
  const auto report =
      KEDGE_TRY(store::copy_store({.from = is_restore ? other : data,
                                   .from_db = is_restore ? "" : arguments->value("--db"),
                                   .from_blobs = is_restore ? "" : arguments->value("--blobs"),
                                   .to = is_restore ? data : other,
                                   .to_db = is_restore ? arguments->value("--db") : "",
                                   .may_replace = !is_restore,
                                   .on_blob = blob_bar(bar)}));
  bar.reset();
  if (arguments->has("--json")) {
    fmt::print("{}\n", nlohmann::json{{"database_bytes", report.database_bytes},
                                      {"blobs", report.blobs},
                                      {"blobs_copied", report.blobs_copied},
                                      {"bytes_copied", report.bytes_copied},
                                      {"problems", report.problems}}
                           .dump());
  } else {
    fmt::print("{}: database {}, {} blobs ({} new, {})\n", (is_restore ? data : other).string(),
               render_bytes({report.database_bytes}), report.blobs, report.blobs_copied,
               render_bytes({report.bytes_copied}));
  }
  return fail_for(report.problems);
}

Result<void> check_data(Args args) {
  const VerbHelp help = {
      .usage = "kedge server check",
      .text = "Checks the database and every blob, also while the server runs.",
      .flags = {
          kDataFlag, kDbFlag, kBlobsFlag, {"--quick", "", "do not read the blobs"}, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (!arguments->positionals().empty() || !arguments->overrides().empty()) {
    return fail(ErrorKind::Usage, "server check takes options only",
                fmt::format("usage: {}", help.usage));
  }
  std::optional<Progress> bar;
  const auto report =
      KEDGE_TRY(store::check_store({.data = arguments->value("--data", "kedge-data"),
                                    .db = arguments->value("--db"),
                                    .blobs = arguments->value("--blobs"),
                                    .is_quick = arguments->has("--quick"),
                                    .on_blob = blob_bar(bar)}));
  bar.reset();
  if (arguments->has("--json")) {
    fmt::print("{}\n",
               nlohmann::json{
                   {"runs", report.runs}, {"blobs", report.blobs}, {"problems", report.problems}}
                   .dump());
  } else {
    fmt::print("{} run{}, {} blob{}: {}\n", report.runs, report.runs == 1 ? "" : "s", report.blobs,
               report.blobs == 1 ? "" : "s", report.problems.empty() ? "sound" : "damaged");
  }
  return fail_for(report.problems);
}

}  // namespace

int run_server_store(const std::string& word, Args args) {
  const auto done = word == "check" ? check_data(args) : copy(args, word == "restore");
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
