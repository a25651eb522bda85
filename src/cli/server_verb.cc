#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/shared/arguments.h"
#include "cli/shared/listen_flags.h"
#include "cli/verbs.h"
#include "core/log.h"
#include "core/signals.h"
#include "core/units.h"
#include "mlflow/routes.h"
#include "server/server.h"
#include "store/store.h"
#include "wandb/routes.h"

namespace kedge::cli {
namespace {

constexpr int kDefaultPort = 8080;
constexpr std::int64_t kMaxTrashDays = 36'500;

const VerbHelp kServerHelp = {
    .usage =
        "kedge server [options]\n       kedge server link | backup FOLDER | restore BACKUP | check",
    .text =
        "Keeps runs and shows them: the API, and the web page at the same address. You find it by "
        "the link it\nprints; others need a key of yours, or users of their own (--auth). Stops on "
        "SIGTERM or Ctrl-C\nafter the requests that have begun. Without a terminal, SIGHUP makes "
        "it "
        "read its certificate again and\ngo on in a new access log.",
    .flags = {{"--data", "DIR", "where everything is kept (kedge-data)"},
              {"--host", "H", "the address to listen on (127.0.0.1: this machine alone)"},
              {"--port", "P", "the port (8080); 0: any free one"},
              {"--db", "URL", "postgres://user@host/name instead of SQLite in DIR"},
              {"--blobs", "WHERE", "a folder or s3://bucket/prefix?endpoint=URL (DIR/blobs)"},
              {"--artifact-root", "URI",
               "mlflow clients put artifacts there themselves (they go through the server)"},
              {"--watch", "DIR", "take in the runs of this folder as they grow; may be repeated"},
              {"--auth", "[none]",
               "make users that log in; none: whoever reaches the port may do everything"},
              {"--admin-password", "FILE",
               "the first line is the first admin's password ($KEDGE_ADMIN_PASSWORD)"},
              {"--tls-cert", "FILE", "serve https with this certificate (PEM)"},
              {"--tls-key", "FILE", "and its private key"},
              {"--access-log", "FILE", "a line for each request, without secrets"},
              {"--allow-host", "NAME", "also answer to this name; may be repeated"},
              {"--disk-reserve", "SIZE",
               "refuse uploads that leave less than this free (5 % of the disk, at most 1GiB)"},
              {"--project-quota", "SIZE", "files that one project may hold, as 50GiB (no limit)"},
              {"--trash-days", "N", "how long deleted runs can be restored (30)"},
              {"--rate", "N", "requests a second that one address may make (no limit)"},
              kJsonFlag},
    .words = {"link", "backup", "restore", "check"}};

Result<std::string> admin_password(const Arguments& arguments) {
  if (arguments.has("--admin-password")) {
    const std::string text = KEDGE_TRY(read_file(arguments.value("--admin-password")));
    return text.substr(0, text.find_first_of("\r\n"));
  }
  const char* given = std::getenv("KEDGE_ADMIN_PASSWORD");
  return given != nullptr ? std::string(given) : std::string();
}

Result<server::Auth> parse_auth(const Arguments& arguments) {
  const std::string given = arguments.value("--auth");
  if (!given.empty() && given != "none") {
    return fail(ErrorKind::Usage, fmt::format("--auth takes 'none' or nothing, not '{}'", given));
  }
  if (!arguments.has("--auth")) {
    return server::Auth::Owner;
  }
  return given.empty() ? server::Auth::Users : server::Auth::None;
}

Result<server::ServerOptions> server_options(const Arguments& arguments) {
  server::ServerOptions options;
  options.data = arguments.value("--data", "kedge-data");
  options.db = arguments.value("--db");
  KEDGE_TRY(store::check_address(options.db));
  options.blobs = arguments.value("--blobs");
  for (const std::string& folder : arguments.values("--watch")) {
    options.watched.emplace_back(folder);
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) {
      warn("--watch: there is no folder {} yet; its runs appear once it is there",
           std::filesystem::absolute(folder, ignored).string());
    }
  }
  options.listen = KEDGE_TRY(listen_options(arguments, kDefaultPort));
  if (arguments.has("--disk-reserve")) {
    options.disk_reserve = KEDGE_TRY(parse_bytes(arguments.value("--disk-reserve"))).value;
  }
  if (arguments.has("--project-quota")) {
    options.project_quota = KEDGE_TRY(parse_bytes(arguments.value("--project-quota"))).value;
  }
  options.access_log = arguments.value("--access-log");
  options.auth = KEDGE_TRY(parse_auth(arguments));
  if (arguments.has("--admin-password") && options.auth != server::Auth::Users) {
    return fail(ErrorKind::Usage, "--admin-password is for the user that --auth makes",
                "add --auth, or leave it out");
  }
  options.requests_per_second = static_cast<double>(KEDGE_TRY(arguments.number("--rate", 0)));
  options.trash_days = KEDGE_TRY(arguments.number("--trash-days", options.trash_days));
  if (options.trash_days < 0 || options.trash_days > kMaxTrashDays) {
    return fail(ErrorKind::Usage, fmt::format("--trash-days is 0 to {}", kMaxTrashDays));
  }
  options.hosts = arguments.values("--allow-host");
  if (http::is_loopback(options.listen.host)) {
    options.hosts.emplace_back("localhost");
  }
  options.admin_password = KEDGE_TRY(admin_password(arguments));
  options.silences_us = {{"mlflow", mlflow::kSilence_us}, {"wandb", wandb::kSilence_us}};
  options.dialects = {
      [root = arguments.value("--artifact-root"), is_remote = options.blobs.starts_with("s3://")](
          auto& router, const auto& api) {
        auto graphql =
            mlflow::add_routes(router, api, {.artifact_root = root, .takes_parts = is_remote});
        wandb::add_routes(router, api, std::move(graphql));
      }};
  return options;
}

volatile std::sig_atomic_t reload_wanted = 0;

// A terminal that is closed also sends SIGHUP: there it means the end.
void catch_reloads() {
  if (::isatty(STDIN_FILENO) != 0) {
    return;
  }
  struct sigaction action = {};
  action.sa_handler = [](int) { reload_wanted = 1; };
  ::sigaction(SIGHUP, &action, nullptr);
}

// How the owner's programs get in. The key itself is not shown: terminals and logs are kept.
void print_ways_in(server::Server& server) {
  const std::string address = server.address();
  if (::isatty(STDERR_FILENO) != 0) {
    say("page     {} (opens once; `kedge server link` makes another)", server.make_owner_link());
  } else {
    say("page     `kedge server link --server {}` prints an address that opens it", address);
  }
  if (const auto& file = server.owner_key_file()) {
    say("kedge    finds its key by itself ({})", file->string());
    say("wandb    export WANDB_BASE_URL={} WANDB_API_KEY=$(cat {})", address, file->string());
    say("mlflow   export MLFLOW_TRACKING_URI={} MLFLOW_TRACKING_TOKEN=$(cat {})", address,
        file->string());
  }
}

void print_start(server::Server& server, const server::ServerOptions& options, bool as_json) {
  const std::string where =
      options.db.empty() ? options.data.string() : store::render_address(options.db);
  if (as_json) {
    fmt::print("{}\n", nlohmann::json{{"address", server.address()}, {"store", where}}.dump());
  } else {
    fmt::print("kedge server: {} (store: {})\n", server.address(), where);
  }
  std::fflush(stdout);  // who started it waits for this line
  if (const auto& file = server.admin_token_file()) {
    say("the user 'admin' was made; the token is in {}", file->string());
  }
  if (options.auth == server::Auth::Owner) {
    print_ways_in(server);
  }
  if (options.auth == server::Auth::None) {
    warn("everybody who reaches {} can read and change everything{}", server.address(),
         http::is_loopback(options.listen.host) ? ": all users of this machine" : "");
  } else if (!options.listen.tls && !http::is_loopback(options.listen.host)) {
    warn("passwords and tokens travel unencrypted; use --tls-cert and --tls-key, or a proxy");
  }
}

Result<void> serve(Args args) {
  const auto arguments = KEDGE_TRY(parse_or_help(args, kServerHelp));
  if (!arguments) {
    return {};
  }
  if (!arguments->positionals().empty() || !arguments->overrides().empty()) {
    return fail(ErrorKind::Usage, "server takes options, or one of link, backup, restore, check",
                fmt::format("usage: {}", kServerHelp.usage));
  }
  const auto options = KEDGE_TRY(server_options(*arguments));
  const StopSignals signals;
  catch_reloads();
  // Only this thread takes signals, so that they end its wait: threads inherit the mask.
  sigset_t stops;
  ::sigemptyset(&stops);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    ::sigaddset(&stops, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  auto server = server::Server::start(options);
  ::pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
  if (!server) {
    return std::unexpected(std::move(server).error());
  }
  print_start(**server, options, arguments->has("--json"));
  while (!signals.requested()) {
    // A signal between the check and the wait costs this much.
    constexpr int kWait_ms = 200;
    ::poll(nullptr, 0, kWait_ms);
    if (reload_wanted != 0) {
      reload_wanted = 0;
      (*server)->reload();
    }
  }
  say("kedge server: stopping ({})", signals.name());
  (*server)->stop();
  return {};
}

}  // namespace

int run_server(Args args) {
  // What a store holds is its owner's, whatever the shell's umask: databases, blobs, backups.
  ::umask(077);
  if (!args.empty() && args.front() == "link") {
    return run_server_link(args.subspan(1));
  }
  if (!args.empty() &&
      (args.front() == "backup" || args.front() == "restore" || args.front() == "check")) {
    return run_server_store(args.front(), args.subspan(1));
  }
  const auto done = serve(args);
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
