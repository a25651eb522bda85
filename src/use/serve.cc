#include "use/serve.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>

#include "core/log.h"
#include "core/signals.h"
#include "device/plugin.h"
#include "train/torch_guard.h"
#include "use/internal/text_batch.h"
#include "use/serve/access_tokens.h"
#include "use/serve/api.h"
#include "use/serve/model_thread.h"

namespace kedge::use {
namespace {

constexpr std::int64_t kContext = 4096;
constexpr std::int64_t kMaxSlots = 1024;
constexpr auto kGrace = std::chrono::seconds(5);

Result<void> check_options(const ServeOptions& options) {
  const auto refuse = [](bool is_wrong, std::string what, std::string hint = {}) -> Result<void> {
    return is_wrong ? Result<void>(fail(ErrorKind::Usage, std::move(what), std::move(hint)))
                    : Result<void>();
  };
  KEDGE_TRY(refuse(options.slots < 1 || options.slots > kMaxSlots,
                   fmt::format("--slots is 1 to {}", kMaxSlots)));
  KEDGE_TRY(refuse(options.queue < 1, "--queue must be at least 1"));
  return refuse(options.tokens.empty() && !http::is_loopback(options.listen.host),
                fmt::format("whoever reaches {} could use the model", options.listen.host),
                "name a file of tokens with --tokens, or listen on 127.0.0.1");
}

// The folder's or the file's name, without its ending.
std::string name_of(const Path& path) {
  const Path whole = std::filesystem::absolute(path).lexically_normal();
  const Path name = whole.has_filename() ? whole : whole.parent_path();
  return std::filesystem::is_directory(name) ? name.filename() : name.stem();
}

// Threads that begin while it lives take no signals, so that these end this thread's wait.
class SignalsHere {
 public:
  SignalsHere() {
    ::sigemptyset(&stops_);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
      ::sigaddset(&stops_, number);
    }
    ::pthread_sigmask(SIG_BLOCK, &stops_, nullptr);
  }

  SignalsHere(const SignalsHere&) = delete;
  SignalsHere& operator=(const SignalsHere&) = delete;

  ~SignalsHere() { ::pthread_sigmask(SIG_UNBLOCK, &stops_, nullptr); }

 private:
  sigset_t stops_ = {};
};

void print_start(const ServeOptions& options, const std::string& address, const std::string& name,
                 std::int64_t room) {
  if (options.as_json) {
    fmt::print("{}\n", nlohmann::json{{"address", address}, {"model", name}}.dump());
  } else {
    fmt::print("kedge serve: {}/v1 (model {}, {} slots of {} tokens)\n", address, name,
               options.slots, room);
  }
  std::fflush(stdout);  // who started it waits for this line
  if (!options.tokens.empty() && !options.listen.tls && !http::is_loopback(options.listen.host)) {
    warn("tokens and texts travel unencrypted; use --tls-cert and --tls-key, or a proxy");
  }
}

Result<void> wait_for_end(const StopSignals& signals, const ModelThread& thread) {
  while (!signals.requested()) {
    if (const auto failure = thread.failure()) {
      return std::unexpected(*failure);
    }
    // A signal between the check and the wait costs this much.
    constexpr int kWait_ms = 100;
    ::poll(nullptr, 0, kWait_ms);
  }
  say("kedge serve: stopping ({})", signals.name());
  return {};
}

Result<void> serve_model(const ServeOptions& options, const LanguageModel& model,
                         const AccessTokens& tokens) {
  const StopSignals signals;
  auto here = std::make_unique<SignalsHere>();
  const std::int64_t room = KEDGE_TRY(text_room(model, options.context, kContext));
  const auto thread =
      KEDGE_TRY(ModelThread::start(model, {.slots = static_cast<std::size_t>(options.slots),
                                           .room = room,
                                           .queue = static_cast<std::size_t>(options.queue)}));
  const ServedModel served{
      .model = model,
      .name = options.name.empty() ? name_of(options.model.model) : options.name,
      .chat = ChatPrompts::load(model),
      .thread = *thread,
      .started_s = std::time(nullptr)};
  http::Router router;
  add_routes(router, served);
  const http::Gate gate = {.check = [&](http::Request& request, const http::Route* route) {
    return tokens.check(request, route);
  }};
  const auto listener = KEDGE_TRY(http::Listener::start(router, gate, options.listen));
  here.reset();
  print_start(options, listener->address(), served.name, room);
  const auto ended = wait_for_end(signals, *thread);
  thread->stop(kGrace);
  listener->stop();
  return ended;
}

}  // namespace

Result<void> run_serve(const ServeOptions& options) {
  KEDGE_TRY(check_options(options));
  const AccessTokens tokens =
      options.tokens.empty() ? AccessTokens() : KEDGE_TRY(AccessTokens::load(options.tokens));
  device::open();
  return train::catch_torch([&]() -> Result<void> {
    const LanguageModel model = KEDGE_TRY(open_language_model(options.model));
    return serve_model(options, model, tokens);
  });
}

}  // namespace kedge::use
