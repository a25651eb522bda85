#include "server/server.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/disk_room.h"
#include "core/log.h"
#include "server/api.h"
#include "server/internal/secrets.h"
#include "server/page.h"
#include "server/run_watch.h"
#include "server/sweep_host.h"
#include "server/trash.h"
#include "track/owner_key.h"

namespace kedge::server {
namespace {

constexpr auto kCheckInterval = std::chrono::seconds(5);
constexpr std::int64_t kDay_us = 86'400'000'000;
constexpr std::int64_t kSilence_us = 60'000'000;

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Calls something again and again until it is destroyed.
class Repeater {
 public:
  Repeater(std::chrono::milliseconds interval, std::function<void()> action)
      : thread_([this, interval, action = std::move(action)] {
          std::unique_lock lock(mutex_);
          while (!changed_.wait_for(lock, interval, [this] { return is_stopping_; })) {
            lock.unlock();
            action();
            lock.lock();
          }
        }) {}

  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

  ~Repeater() {
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopping_ = false;
  std::thread thread_;
};

// Whether the files of a certificate are others than before: those who renew it need tell nobody.
class CertificateWatch {
 public:
  explicit CertificateWatch(std::optional<http::TlsFiles> files)
      : files_(std::move(files)), seen_(look()) {}

  bool has_changed() {
    const auto now = look();
    return std::exchange(seen_, now) != now;
  }

 private:
  using Marks = std::array<std::int64_t, 3>;  // number, size, time of change

  std::array<Marks, 2> look() const {
    return files_ ? std::array{marks_of(files_->certificate), marks_of(files_->key)}
                  : std::array<Marks, 2>{};
  }

  static Marks marks_of(const Path& file) {
    struct stat facts = {};
    if (::stat(file.c_str(), &facts) != 0) {
      return {};
    }
    return {static_cast<std::int64_t>(facts.st_ino), facts.st_size,
            facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec};
  }

  std::optional<http::TlsFiles> files_;
  std::array<Marks, 2> seen_;
};

void reload_certificate(http::Listener& listener) {
  if (const auto loaded = listener.reload_tls(); !loaded) {
    warn("the old certificate stays: {}", loaded.error().message);
  }
}

// Its owner's alone; where that cannot be (a file system without modes, somebody else's folder) the
// owner is told, and decides.
Result<void> make_data_folder(const Path& data) {
  const auto made = make_private_dir(data);
  if (made || !std::filesystem::is_directory(data)) {
    return made;
  }
  warn("{}; whoever can read this folder can read all runs and keys", made.error().message);
  return {};
}

// A part left by a server that was killed belongs to nobody.
Result<Path> make_spool_folder(const Path& data) {
  Path folder = data / "spool";
  KEDGE_TRY(make_dirs(folder));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::filesystem::remove(entry.path(), error);
  }
  return folder;
}

Result<std::optional<Path>> make_first_user(store::Store& store, Access& access,
                                            const ServerOptions& options) {
  if (options.auth != Auth::Users || access.has_users()) {
    return std::nullopt;
  }
  const auto password =
      options.admin_password.empty() ? std::nullopt : std::optional(options.admin_password);
  KEDGE_TRY(access.put_user("admin", http::Role::Admin, password));
  KEDGE_TRY(store.add_audit(
      {.time_us = now_us(), .who = "kedge server", .what = "user.put", .target = "admin"}));
  const NewGrant token =
      KEDGE_TRY(access.make_grant({.user = "admin", .label = "first", .role = http::Role::Admin}));
  Path file = options.data / "admin-token";
  KEDGE_TRY(write_private_file(file, token.secret + "\n"));
  return file;
}

std::string user_name() {
  const passwd* const entry = ::getpwuid(::geteuid());
  return entry == nullptr ? fmt::format("user{}", ::geteuid()) : std::string(entry->pw_name);
}

// The same at every start, so that what users have exported stays good.
Result<std::optional<Owner>> load_owner(const ServerOptions& options) {
  if (options.auth != Auth::Owner) {
    return std::nullopt;
  }
  const Path file = options.data / "owner-key";
  const std::string text = read_file(file).value_or("");
  std::string key = text.substr(0, text.find_first_of("\r\n"));
  if (!key.starts_with("kedge_")) {
    key = make_secret();
    KEDGE_TRY(write_private_file(file, key + "\n"));
  }
  return Owner{user_name(), std::move(key)};
}

// Beside the user's other settings, by the address: a server that is asked by address has no
// folder.
std::optional<Path> publish_key(const std::optional<Owner>& owner, const std::string& address) {
  const auto file = track::owner_key_file(address);
  if (!owner || !file) {
    return std::nullopt;
  }
  auto written = make_private_dir(file->parent_path());
  written = written ? write_private_file(*file, owner->key + "\n") : std::move(written);
  if (!written) {
    warn("kedge will not find the key by itself: {}", written.error().message);
    return std::nullopt;
  }
  return *file;
}

AccessOptions access_options(const ServerOptions& options, const std::optional<Owner>& owner) {
  return {.needs_login = options.auth != Auth::None,
          .owner = owner,
          .hosts = options.hosts,
          .requests_per_second = options.requests_per_second};
}

}  // namespace

// In the order of their construction: each uses those above it.
struct Server::Parts {
  std::unique_ptr<store::Store> store;
  std::unique_ptr<store::BlobStore> blobs;
  std::unique_ptr<store::Artifacts> artifacts;
  std::unique_ptr<store::Models> models;
  std::unique_ptr<Access> access;
  EventHub events;
  std::unique_ptr<SweepHost> sweeps;
  std::unique_ptr<Api> api;
  http::Router router;
  std::unique_ptr<http::AccessLog> access_log;
  std::unique_ptr<http::Listener> listener;
  std::unique_ptr<Repeater> checks;
  std::unique_ptr<RunWatch> watch;
  std::optional<Path> admin_token_file;
  std::optional<Owner> owner;
  std::optional<Path> owner_key_file;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  stop();
}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options) {
  KEDGE_TRY(make_data_folder(options.data));
  auto parts = std::make_unique<Parts>();
  const std::string address = options.db.empty() ? options.data.string() : options.db;
  parts->store = KEDGE_TRY(store::Store::open(address, now_us()));
  http::ListenOptions listen = options.listen;
  listen.spool_folder = KEDGE_TRY(make_spool_folder(options.data));
  const std::string blobs =
      options.blobs.empty() ? (options.data / "blobs").string() : options.blobs;
  listen.reserve_bytes = options.disk_reserve.value_or(default_reserve(options.data));
  parts->blobs = KEDGE_TRY(store::BlobStore::open(
      blobs, {.spool = listen.spool_folder, .reserve_bytes = listen.reserve_bytes}));
  parts->artifacts = std::make_unique<store::Artifacts>(*parts->store, *parts->blobs);
  parts->artifacts->set_project_quota(options.project_quota);
  parts->models = std::make_unique<store::Models>(*parts->store);
  parts->owner = KEDGE_TRY(load_owner(options));
  parts->access =
      KEDGE_TRY(Access::open(*parts->store, access_options(options, parts->owner), now_us));
  parts->admin_token_file = KEDGE_TRY(make_first_user(*parts->store, *parts->access, options));
  parts->sweeps = std::make_unique<SweepHost>(*parts->store, now_us);
  parts->api = std::make_unique<Api>(Api{*parts->store, *parts->blobs, *parts->artifacts,
                                         *parts->models, *parts->access, parts->events,
                                         *parts->sweeps, now_us, options.trash_days});
  parts->store->set_listener(
      [&events = parts->events](std::span<const store::Change> changes) { events.note(changes); });
  add_api_routes(parts->router, *parts->api);
  for (const auto& add_routes : options.dialects) {
    add_routes(parts->router, *parts->api);
  }
  parts->router.set_fallback(page_response);
  parts->router.set_unknown({.hint = "GET /api/v1/openapi.json lists what there is"});
  if (!options.access_log.empty()) {
    parts->access_log = KEDGE_TRY(http::AccessLog::open(options.access_log));
    listen.access_log = parts->access_log.get();
  }
  listen.begin_turn = [&store = *parts->store] { return store.begin_turn(); };
  listen.on_address = [parts = parts.get()](const std::string& address) {
    parts->owner_key_file = publish_key(parts->owner, address);
  };
  parts->listener = KEDGE_TRY(http::Listener::start(
      parts->router,
      {.check = [&access = *parts->access](
                    http::Request& request,
                    const http::Route* route) { return access.check(request, route); },
       .is_slow = [&access = *parts->access](
                      const http::Request& request,
                      const http::Route* route) { return access.is_slow(request, route); }},
      listen));
  parts->checks = std::make_unique<Repeater>(
      kCheckInterval,
      [&store = *parts->store, &listener = *parts->listener, &api = *parts->api,
       silences_us = options.silences_us, watch = CertificateWatch(options.listen.tls)]() mutable {
        const auto silence_of = [&](const store::RunFacts& run) {
          const auto found = silences_us.find(run.source);
          return found == silences_us.end() ? std::optional(kSilence_us) : found->second;
        };
        if (const auto marked = store.mark_crashed(now_us(), silence_of); !marked) {
          warn("silent runs are not marked: {}", marked.error().message);
        }
        if (const auto emptied = empty_trash(api, now_us() - api.trash_days * kDay_us); !emptied) {
          warn("the trash is not emptied: {}", emptied.error().message);
        }
        if (watch.has_changed()) {
          reload_certificate(listener);
        }
      });
  if (!options.watched.empty()) {
    parts->watch = std::make_unique<RunWatch>(*parts->store, parts->blobs.get(),
                                              WatchOptions{.dirs = options.watched}, now_us);
  }
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

std::string Server::address() const {
  return parts_->listener->address();
}

const std::optional<Path>& Server::admin_token_file() const {
  return parts_->admin_token_file;
}

const std::optional<Path>& Server::owner_key_file() const {
  return parts_->owner_key_file;
}

std::string Server::make_owner_link() {
  return fmt::format(
      "{}/enter/{}", address(),
      parts_->access->make_entry({.name = parts_->owner->name, .role = http::Role::Admin}));
}

void Server::reload() {
  if (parts_->access_log != nullptr) {
    if (const auto opened = parts_->access_log->reopen(); !opened) {
      warn("the access log is not opened again: {}", opened.error().message);
    }
  }
  reload_certificate(*parts_->listener);
}

void Server::stop() {
  parts_->watch.reset();
  parts_->checks.reset();
  parts_->listener->stop();
  if (const auto file = std::exchange(parts_->owner_key_file, std::nullopt)) {
    std::error_code ignored;
    std::filesystem::remove(*file, ignored);
  }
  parts_->store->set_listener({});
}

}  // namespace kedge::server
