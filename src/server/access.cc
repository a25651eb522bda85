#include "server/access.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base64.h"
#include "core/file_digest.h"
#include "server/internal/secrets.h"

namespace kedge::server {
namespace {

constexpr std::array<std::string_view, 4> kRoleNames = {"none", "view", "write", "admin"};
constexpr std::string_view kCookie = "kedge_session=";
constexpr double kFailuresPerSecond = 0.2;
constexpr double kFailureBurst = 20;
constexpr std::size_t kMaxBuckets = 100'000;

// The name before the port; "[::1]:80" is "[::1]".
std::string_view host_name(std::string_view host) {
  const auto colon = host.rfind(':');
  const bool is_port = colon != std::string_view::npos && host.find(']', colon) == host.npos;
  return is_port ? host.substr(0, colon) : host;
}

// An address in digits cannot be made to resolve to something else.
bool is_numeric_host(std::string_view host) {
  return host.starts_with('[') || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

struct NamedSecret {
  std::string name;
  std::string secret;
};

// Of "Basic ...".
std::optional<NamedSecret> basic_of(std::string_view authorization) {
  constexpr std::string_view kBasic = "Basic ";
  if (!authorization.starts_with(kBasic)) {
    return std::nullopt;
  }
  const auto pair = decode_base64(authorization.substr(kBasic.size()));
  const auto colon = pair ? pair->find(':') : std::string::npos;
  if (!pair || colon == std::string::npos) {
    return std::nullopt;
  }
  return NamedSecret{pair->substr(0, colon), pair->substr(colon + 1)};
}

// Of "Bearer SECRET", or of "Basic ..." with the secret as password, which is how clients of other
// tools send their keys.
std::optional<std::string> secret_of(std::string_view authorization) {
  constexpr std::string_view kBearer = "Bearer ";
  if (authorization.starts_with(kBearer)) {
    return std::string(authorization.substr(kBearer.size()));
  }
  const auto basic = basic_of(authorization);
  return basic ? std::optional(basic->secret) : std::nullopt;
}

Response too_many(std::string_view what) {
  Response response = error_response(429, what, "wait a little");
  response.headers.add("Retry-After", "5");
  return response;
}

}  // namespace

std::string_view name_of(Role role) {
  return kRoleNames.at(static_cast<std::size_t>(role));
}

std::optional<Role> parse_role(std::string_view name) {
  const auto* const found = std::ranges::find(kRoleNames, name);
  return found == kRoleNames.end()
             ? std::nullopt
             : std::optional(static_cast<Role>(std::distance(kRoleNames.begin(), found)));
}

std::string csrf_token_of(std::string_view session_secret) {
  return sha256_of(fmt::format("csrf {}", session_secret));
}

std::optional<std::string> session_cookie(const Request& request) {
  const auto cookies = request.headers.find("cookie").value_or("");
  const auto begin = cookies.find(kCookie);
  if (begin == std::string_view::npos || (begin > 0 && cookies[begin - 1] != ' ')) {
    return std::nullopt;
  }
  const auto value = cookies.substr(begin + kCookie.size());
  return std::string(value.substr(0, value.find(';')));
}

Result<void> check_project(const Caller& caller, const std::string& project,
                           const std::string& run) {
  if ((caller.project.empty() || caller.project == project) &&
      (caller.run.empty() || caller.run == run)) {
    return {};
  }
  // As if it were not there: a link to one run must not tell which others there are.
  return fail(ErrorKind::NotFound,
              run.empty() ? fmt::format("there is no project '{}'", project)
                          : fmt::format("there is no run '{}/{}'", project, run),
              fmt::format("what you logged in with opens the {} '{}' alone",
                          caller.run.empty() ? "project" : "run",
                          caller.run.empty() ? caller.project : caller.run));
}

std::optional<Response> Access::check_host(const Request& request) const {
  const auto host = host_name(request.headers.find("host").value_or(""));
  if (options_.hosts.empty() || host.empty() || is_numeric_host(host) ||
      std::ranges::find(options_.hosts, host) != options_.hosts.end()) {
    return std::nullopt;
  }
  return error_response(421, fmt::format("this server is not '{}'", host),
                        "start it with --allow-host to let it be called so");
}

bool Access::take(std::map<std::string, Bucket>& buckets, const std::string& peer,
                  double per_second, double burst) {
  if (buckets.size() > kMaxBuckets) {
    buckets.clear();  // addresses are free for an attacker, our memory is not
  }
  const std::int64_t now_us = now_us_();
  auto [found, is_new] = buckets.try_emplace(peer, Bucket{burst, now_us});
  Bucket& bucket = found->second;
  bucket.tokens = std::min(
      burst, bucket.tokens + per_second * static_cast<double>(now_us - bucket.time_us) * 1e-6);
  bucket.time_us = now_us;
  if (bucket.tokens < 1) {
    return false;
  }
  bucket.tokens -= 1;
  return true;
}

std::optional<Response> Access::check_rate(const Request& request) {
  if (options_.requests_per_second <= 0) {
    return std::nullopt;
  }
  const std::scoped_lock lock(mutex_);
  const double rate = options_.requests_per_second;
  return take(requests_, request.peer, rate, 2 * rate)
             ? std::nullopt
             : std::optional(too_many("too many requests from this address"));
}

// A browser sends Origin with every change; another site's page cannot leave it out. With a session
// the token is needed too.
std::optional<Response> Access::check_origin(const Request& request, bool is_by_cookie) const {
  if (request.method == Method::Get) {
    return std::nullopt;
  }
  const auto origin = request.headers.find("origin");
  const auto host = request.headers.find("host").value_or("");
  const bool is_foreign = origin && *origin != fmt::format("http://{}", host) &&
                          *origin != fmt::format("https://{}", host);
  if (is_foreign) {
    return error_response(403, fmt::format("a page of {} may not change anything here", *origin));
  }
  // Browsers send no such headers to another site without asking it first, and it says no.
  const bool is_ours =
      request.headers.find("x-kedge-page").has_value() ||
      request.headers.find("x-csrf-token") == csrf_token_of(session_cookie(request).value_or(""));
  if (is_by_cookie && !is_ours) {
    return error_response(403, "the header X-CSRF-Token is missing or wrong",
                          "GET /api/v1/me tells it");
  }
  return std::nullopt;
}

std::optional<Grant> Access::find_grant(const Request& request, bool& is_by_cookie) const {
  std::optional<std::string> secret;
  if (const auto header = request.headers.find("authorization")) {
    secret = secret_of(*header);
  } else if (const auto share = request.query_value("share")) {
    secret = std::string(*share);
  } else {
    secret = session_cookie(request);
    is_by_cookie = secret.has_value();
  }
  if (!secret) {
    return std::nullopt;
  }
  const std::string hash = sha256_of(*secret);
  const std::scoped_lock lock(mutex_);
  const auto found = grants_.find(hash);
  if (found == grants_.end() ||
      (found->second.expires_us != 0 && found->second.expires_us <= now_us_())) {
    return std::nullopt;
  }
  Grant grant = found->second;
  if (grant.kind != GrantKind::Share) {
    const auto user = users_.find(grant.user);
    grant.role = user == users_.end() ? Role::None : std::min(grant.role, user->second.facts.role);
  }
  return grant;
}

std::optional<Response> Access::check_role(const Request& request, const Route& route) const {
  const Caller& caller = request.caller;
  if (route.options.role > caller.role) {
    return error_response(403, fmt::format("this needs the role '{}', and you have '{}'",
                                           name_of(route.options.role), name_of(caller.role)));
  }
  if (caller.project.empty() || route.options.role == Role::None) {
    return std::nullopt;
  }
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find_if(request.parameters,
                                            [&](const auto& entry) { return entry.first == name; });
    return found == request.parameters.end() ? std::string() : found->second;
  };
  const std::string project = find("project");
  if (project.empty()) {
    return route.options.is_scoped
               ? std::nullopt
               : std::optional(error_response(403, "this is not open to a key for one project"));
  }
  const auto allowed = check_project(caller, project, find("id"));
  return allowed ? std::nullopt : std::optional(error_response(allowed.error()));
}

std::optional<Response> Access::check(Request& request, const Route* route) {
  if (auto refusal = check_host(request)) {
    return refusal;
  }
  if (auto refusal = check_rate(request)) {
    return refusal;
  }
  bool is_by_cookie = false;
  if (!options_.needs_login) {
    request.caller.role = Role::Admin;
    return check_origin(request, false);
  }
  auto grant = find_grant(request, is_by_cookie);
  if (!grant) {
    grant = find_password(request.headers.find("authorization").value_or(""));
  }
  if (grant) {
    request.caller = {
        .name = grant->user, .role = grant->role, .project = grant->project, .run = grant->run};
  }
  if (auto refusal = check_origin(request, is_by_cookie)) {
    return refusal;
  }
  if (route == nullptr || route->options.role == Role::None) {
    return std::nullopt;
  }
  if (grant) {
    return check_role(request, *route);
  }
  const bool has_tried = request.headers.find("authorization") || request.query_value("share");
  if (has_tried) {
    const std::scoped_lock lock(mutex_);
    if (!take(failures_, request.peer, kFailuresPerSecond, kFailureBurst)) {
      return too_many("too many wrong keys from this address");
    }
  }
  Response response = error_response(401, has_tried ? "the key is not valid" : "who are you?",
                                     "send a token: Authorization: Bearer kedge_...");
  response.headers.add("WWW-Authenticate", "Bearer");
  return response;
}

// Clients that send name and password with every call must not cost a slow hash each time, so what
// was right is right for a while.
std::optional<Grant> Access::find_password(std::string_view authorization) {
  constexpr std::int64_t kGoodFor = 600LL * 1'000'000;
  const auto basic = basic_of(authorization);
  if (!basic) {
    return std::nullopt;
  }
  const std::string known = fmt::format("{} {}", basic->name, sha256_of(basic->secret));
  std::string hashed;
  Grant grant{.user = basic->name};
  {
    const std::scoped_lock lock(mutex_);
    const auto user = users_.find(basic->name);
    if (user == users_.end() || user->second.password.empty()) {
      return std::nullopt;
    }
    grant.role = user->second.facts.role;
    const auto found = passwords_.find(known);
    if (found != passwords_.end() && found->second > now_us_()) {
      return grant;
    }
    if (!take(failures_, basic->name, kFailuresPerSecond, kFailureBurst)) {
      return std::nullopt;
    }
    hashed = user->second.password;
  }
  if (!is_password(basic->secret, hashed)) {
    return std::nullopt;
  }
  const std::scoped_lock lock(mutex_);
  std::erase_if(passwords_, [now = now_us_()](const auto& entry) { return entry.second <= now; });
  passwords_[known] = now_us_() + kGoodFor;
  return grant;
}

void Access::rename_project(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  for (auto& [hash, grant] : grants_) {
    if (grant.project == from) {
      grant.project = to;
    }
  }
}

Result<std::optional<NewGrant>> Access::login(const std::string& name,
                                              const std::string& password) {
  std::string hashed;
  {
    const std::scoped_lock lock(mutex_);
    if (!take(failures_, name, kFailuresPerSecond, kFailureBurst)) {
      return std::nullopt;
    }
    const auto found = users_.find(name);
    hashed = found == users_.end() ? "" : found->second.password;
  }
  // Somebody who does not exist takes as long as somebody who does.
  static const std::string nobody = hash_password("nobody");
  const bool is_right = is_password(password, hashed.empty() ? nobody : hashed);
  if (!is_right || hashed.empty()) {
    return std::nullopt;
  }
  constexpr std::int64_t kMonth = 30LL * 86'400 * 1'000'000;
  return KEDGE_TRY(make_grant({.kind = GrantKind::Session,
                               .user = name,
                               .role = Role::Admin,  // whatever the user's own is
                               .expires_us = now_us_() + kMonth}));
}

}  // namespace kedge::server
