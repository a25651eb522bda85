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

constexpr std::int64_t kEntryGoodFor_us = 600LL * 1'000'000;
// The label of a session that was made with a key that ends: what it makes must not last longer.
constexpr std::string_view kLimitedSession = "limited";

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

// Browsers send cookies to every port of a host: each server there needs a name of its own.
std::string cookie_name(const http::Request& request) {
  const auto host = request.headers.find("host").value_or("");
  const auto name = host_name(host);
  return name.size() < host.size() ? fmt::format("kedge_session_{}", host.substr(name.size() + 1))
                                   : "kedge_session";
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

http::Response too_many(std::string_view what) {
  http::Response response = http::error_response(429, what, "wait a little");
  response.headers.add("Retry-After", "5");
  return response;
}

}  // namespace

std::string_view name_of(http::Role role) {
  return kRoleNames.at(static_cast<std::size_t>(role));
}

std::optional<http::Role> parse_role(std::string_view name) {
  const auto* const found = std::ranges::find(kRoleNames, name);
  return found == kRoleNames.end()
             ? std::nullopt
             : std::optional(static_cast<http::Role>(std::distance(kRoleNames.begin(), found)));
}

std::string csrf_token_of(std::string_view session_secret) {
  return sha256_of(fmt::format("csrf {}", session_secret));
}

std::optional<std::string> session_cookie(const http::Request& request) {
  const auto cookies = request.headers.find("cookie").value_or("");
  const std::string key = cookie_name(request) + "=";
  const auto begin = cookies.find(key);
  if (begin == std::string_view::npos || (begin > 0 && cookies[begin - 1] != ' ')) {
    return std::nullopt;
  }
  const auto value = cookies.substr(begin + key.size());
  return std::string(value.substr(0, value.find(';')));
}

std::string set_session_cookie(const http::Request& request, std::string_view secret) {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}", cookie_name(request),
                     secret, secret.empty() ? 0 : 30 * 86'400, request.is_secure ? "; Secure" : "");
}

Result<void> check_project(const http::Caller& caller, const std::string& project,
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

std::optional<http::Response> Access::check_host(const http::Request& request) const {
  const auto host = host_name(request.headers.find("host").value_or(""));
  if (options_.hosts.empty() || host.empty() || is_numeric_host(host) ||
      std::ranges::find(options_.hosts, host) != options_.hosts.end()) {
    return std::nullopt;
  }
  return http::error_response(421, fmt::format("this server is not '{}'", host),
                              "start it with --allow-host to let it be called so");
}

std::optional<http::Response> Access::check_rate(const http::Request& request) {
  if (options_.requests_per_second <= 0) {
    return std::nullopt;
  }
  const std::scoped_lock lock(mutex_);
  return requests_.take(request.peer, now_us_())
             ? std::nullopt
             : std::optional(too_many("too many requests from this address"));
}

// A browser sends Origin with every change; another site's page cannot leave it out. With a session
// the token is needed too.
std::optional<http::Response> Access::check_origin(const http::Request& request,
                                                   bool is_by_cookie) const {
  if (request.method == http::Method::Get) {
    return std::nullopt;
  }
  const auto origin = request.headers.find("origin");
  const auto host = request.headers.find("host").value_or("");
  const bool is_foreign = origin && *origin != fmt::format("http://{}", host) &&
                          *origin != fmt::format("https://{}", host);
  if (is_foreign) {
    return http::error_response(403,
                                fmt::format("a page of {} may not change anything here", *origin));
  }
  // Browsers send no such headers to another site without asking it first, and it says no.
  const bool is_ours =
      request.headers.find("x-kedge-page").has_value() ||
      request.headers.find("x-csrf-token") == csrf_token_of(session_cookie(request).value_or(""));
  if (is_by_cookie && !is_ours) {
    return http::error_response(403, "the header X-CSRF-Token is missing or wrong",
                                "GET /api/v1/me tells it");
  }
  return std::nullopt;
}

struct Access::Presented {
  std::string secret;
  std::vector<GrantKind> kinds;
  bool is_by_cookie = false;
};

// A secret counts only where its kind belongs: a token in an address would be in every log.
std::optional<Access::Presented> Access::presented_by(const http::Request& request) {
  if (const auto header = request.headers.find("authorization")) {
    const auto secret = secret_of(*header);
    return secret ? std::optional(Presented{*secret, {GrantKind::Token, GrantKind::Share}})
                  : std::nullopt;
  }
  if (const auto share = request.query_value("share")) {
    return Presented{std::string(*share), {GrantKind::Share}};
  }
  const auto session = session_cookie(request);
  return session ? std::optional(Presented{*session, {GrantKind::Session}, true}) : std::nullopt;
}

http::Role Access::role_of(const std::string& user) const {
  if (options_.owner && options_.owner->name == user) {
    return http::Role::Admin;
  }
  const auto found = users_.find(user);
  return found == users_.end() ? http::Role::None : found->second.facts.role;
}

std::optional<Grant> Access::find_grant(const Presented& presented) const {
  const auto is_allowed = [&](GrantKind kind) {
    return std::ranges::find(presented.kinds, kind) != presented.kinds.end();
  };
  const std::string hash = sha256_of(presented.secret);
  if (options_.owner && hash == owner_hash_ && is_allowed(GrantKind::Token)) {
    return Grant{.user = options_.owner->name, .role = http::Role::Admin};
  }
  const std::scoped_lock lock(mutex_);
  const auto found = grants_.find(hash);
  if (found == grants_.end() || !is_allowed(found->second.kind) ||
      (found->second.expires_us != 0 && found->second.expires_us <= now_us_())) {
    return std::nullopt;
  }
  Grant grant = found->second;
  if (grant.kind != GrantKind::Share) {
    grant.role = std::min(grant.role, role_of(grant.user));
  }
  return grant;
}

std::optional<http::Response> Access::check_role(const http::Request& request,
                                                 const http::Route& route) const {
  const http::Caller& caller = request.caller;
  if (route.options.role > caller.role) {
    return http::error_response(
        403, fmt::format("this needs the role '{}', and you have '{}'", name_of(route.options.role),
                         name_of(caller.role)));
  }
  if (caller.project.empty() || route.options.role == http::Role::None) {
    return std::nullopt;
  }
  const auto find = [&](std::string_view name) {
    const auto found = std::ranges::find_if(request.parameters,
                                            [&](const auto& entry) { return entry.first == name; });
    return found == request.parameters.end() ? std::string() : found->second;
  };
  const std::string project = find("project");
  if (project.empty()) {
    return route.options.is_scoped ? std::nullopt
                                   : std::optional(http::error_response(
                                         403, "this is not open to a key for one project"));
  }
  const auto allowed = check_project(caller, project, find("id"));
  return allowed ? std::nullopt : std::optional(http::error_response(allowed.error()));
}

std::optional<PasswordTry> Access::password_of(const http::Request& request) const {
  auto basic = basic_of(request.headers.find("authorization").value_or(""));
  if (!basic) {
    return std::nullopt;
  }
  const std::scoped_lock lock(mutex_);
  const auto user = users_.find(basic->name);
  return PasswordTry{.user = std::move(basic->name),
                     .password = std::move(basic->secret),
                     .hashed = user == users_.end() ? "" : user->second.password,
                     .peer = request.peer};
}

bool Access::is_slow(const http::Request& request, const http::Route* route) const {
  if (!options_.needs_login || route == nullptr || route->options.role == http::Role::None) {
    return false;
  }
  const auto attempt = password_of(request);
  return attempt && !find_grant(*presented_by(request)) && !passwords_.is_known(*attempt);
}

std::optional<http::Caller> Access::find_caller(const http::Request& request,
                                                const http::Route* route) {
  const auto presented = presented_by(request);
  if (const auto grant = presented ? find_grant(*presented) : std::nullopt) {
    const bool is_limited = grant->kind != GrantKind::Session || grant->label == kLimitedSession;
    return http::Caller{.name = grant->user,
                        .role = grant->role,
                        .project = grant->project,
                        .run = grant->run,
                        .expires_us = is_limited ? grant->expires_us : 0};
  }
  // Where nobody needs to log in, no password is worth its hash.
  const bool is_needed = route != nullptr && route->options.role != http::Role::None;
  const auto attempt = is_needed ? password_of(request) : std::nullopt;
  if (!attempt || !passwords_.is_right(*attempt)) {
    return std::nullopt;
  }
  const std::scoped_lock lock(mutex_);
  return http::Caller{
      .name = attempt->user, .role = role_of(attempt->user), .is_by_password = true};
}

std::optional<http::Response> Access::refuse_stranger(const http::Request& request) {
  const bool has_tried = request.headers.find("authorization") || request.query_value("share");
  if (has_tried) {
    const std::scoped_lock lock(mutex_);
    if (!failures_.take(request.peer, now_us_())) {
      return too_many("too many wrong keys from this address");
    }
  }
  http::Response response = http::error_response(
      401, has_tried ? "the key is not valid" : "who are you?",
      options_.owner ? "as the one who started the server: `kedge server link` "
                       "opens the page; programs send Authorization: Bearer KEY"
                     : "send a token: Authorization: Bearer kedge_...");
  response.headers.add("WWW-Authenticate", "Bearer");
  return response;
}

std::optional<http::Response> Access::check(http::Request& request, const http::Route* route) {
  if (auto refusal = check_host(request)) {
    return refusal;
  }
  if (auto refusal = check_rate(request)) {
    return refusal;
  }
  if (!options_.needs_login) {
    request.caller.role = http::Role::Admin;
    return check_origin(request, false);
  }
  const auto caller = find_caller(request, route);
  if (caller) {
    request.caller = *caller;
  }
  const auto presented = presented_by(request);
  if (auto refusal = check_origin(request, presented && presented->is_by_cookie)) {
    return refusal;
  }
  if (route == nullptr || route->options.role == http::Role::None) {
    return std::nullopt;
  }
  return caller ? check_role(request, *route) : refuse_stranger(request);
}

void Access::rename_project(const std::string& from, const std::string& to) {
  const std::scoped_lock lock(mutex_);
  for (auto& [hash, grant] : grants_) {
    if (grant.project == from) {
      grant.project = to;
    }
  }
}

Result<NewGrant> Access::make_session(Grant grant) {
  constexpr std::int64_t kMonth = 30LL * 86'400 * 1'000'000;
  const std::int64_t longest = now_us_() + kMonth;
  grant.kind = GrantKind::Session;
  grant.label = grant.expires_us == 0 ? "" : kLimitedSession;
  grant.expires_us = grant.expires_us == 0 ? longest : std::min(grant.expires_us, longest);
  return make_grant(std::move(grant));
}

Result<std::optional<NewGrant>> Access::login(const std::string& name, const std::string& password,
                                              const std::string& peer) {
  PasswordTry attempt{.user = name, .password = password, .hashed = {}, .peer = peer};
  {
    const std::scoped_lock lock(mutex_);
    const auto found = users_.find(name);
    attempt.hashed = found == users_.end() ? "" : found->second.password;
  }
  if (!passwords_.is_right(attempt)) {
    return std::nullopt;
  }
  // The role is limited by the user's own. A session made while the password changes is not good.
  const NewGrant session = KEDGE_TRY(make_session({.user = name, .role = http::Role::Admin}));
  const std::scoped_lock lock(mutex_);
  const auto found = users_.find(name);
  if (found == users_.end() || found->second.password != attempt.hashed) {
    grants_.erase(sha256_of(session.secret));
    return std::nullopt;
  }
  return session;
}

Result<std::optional<NewGrant>> Access::login_with_key(const std::string& key,
                                                       const std::string& peer) {
  auto grant = find_grant({.secret = key, .kinds = {GrantKind::Token}});
  if (!grant) {
    const std::scoped_lock lock(mutex_);
    failures_.take(peer, now_us_());
    return std::nullopt;
  }
  return KEDGE_TRY(make_session(std::move(*grant)));
}

std::string Access::make_entry(const http::Caller& caller) {
  const std::int64_t now_us = now_us_();
  std::string secret = make_secret();
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) {
    return now_us - entry.second.created_us > kEntryGoodFor_us;
  });
  entries_[sha256_of(secret)] = {.user = caller.name,
                                 .role = caller.role,
                                 .project = caller.project,
                                 .run = caller.run,
                                 .created_us = now_us,
                                 .expires_us = caller.expires_us};
  return secret;
}

Result<std::optional<NewGrant>> Access::enter(const std::string& secret) {
  Grant grant;
  {
    const std::scoped_lock lock(mutex_);
    const auto entry = entries_.extract(sha256_of(secret));
    if (entry.empty() || now_us_() - entry.mapped().created_us > kEntryGoodFor_us) {
      return std::nullopt;
    }
    grant = entry.mapped();
  }
  return KEDGE_TRY(make_session(std::move(grant)));
}

}  // namespace kedge::server
