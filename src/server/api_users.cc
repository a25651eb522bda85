#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"

namespace kedge::server {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

// 0: never.
nlohmann::json render_expiry(std::int64_t expires_us) {
  return expires_us != 0 ? nlohmann::json(expires_us) : nlohmann::json();
}

nlohmann::json render_grant(const Grant& grant) {
  return {{"id", grant.id},           {"name", grant.label},
          {"user", grant.user},       {"scopes", {name_of(grant.role)}},
          {"project", grant.project}, {"created_us", grant.created_us},
          {"run", grant.run},         {"expires_us", render_expiry(grant.expires_us)}};
}

Response session_response(const Request& request, const NewGrant& session) {
  Response response = json_response(
      dump({{"user", session.grant.user}, {"csrf_token", csrf_token_of(session.secret)}}));
  response.headers.add("Set-Cookie", set_session_cookie(request, session.secret));
  return response;
}

Result<Response> login(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"user", "password", "key"}));
  const std::string user = KEDGE_TRY(find_text(json, "user")).value_or("");
  const std::string password = KEDGE_TRY(find_text(json, "password")).value_or("");
  const auto key = KEDGE_TRY(find_text(json, "key"));
  const auto session = KEDGE_TRY(key ? api.access.login_with_key(*key, request.peer)
                                     : api.access.login(user, password, request.peer));
  if (!session) {
    api.audit(request, "login.refused", user.substr(0, 64), {{"peer", request.peer}});
    return error_response(401, key ? "the key is wrong" : "the name or the password is wrong",
                          "or it was tried too often");
  }
  return session_response(request, *session);
}

// Opens the page once, with what the caller may do.
Result<Response> make_entry(const Api& api, const Request& request) {
  if (!api.access.needs_login()) {
    return fail(ErrorKind::Usage, "this server asks nobody to log in", "open its address");
  }
  if (request.caller.name.empty()) {
    return error_response(403, "a share link opens the page as it is");
  }
  const std::string secret = api.access.make_entry(request.caller);
  return json_response(dump({{"path", "/enter/" + secret}, {"expires_in_s", 600}}), 201);
}

Result<Response> enter(const Api& api, const Request& request) {
  const auto session = KEDGE_TRY(api.access.enter(request.parameter("token")));
  if (!session) {
    return error_response(401, "this link was used, or it is too old",
                          "`kedge server link` makes another");
  }
  Response response{.status = 303};
  response.headers.add("Location", "/");
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("Set-Cookie", set_session_cookie(request, session->secret));
  return response;
}

Result<Response> logout(const Api& api, const Request& request) {
  KEDGE_TRY(api.access.logout(request));
  Response response{.status = 204};
  response.headers.add("Set-Cookie", set_session_cookie(request, {}));
  return response;
}

Result<Response> me(const Api& api, const Request& request) {
  nlohmann::json json = {{"user", request.caller.name},
                         {"role", name_of(request.caller.role)},
                         {"auth", api.access.needs_login()}};
  if (const auto session = session_cookie(request); session && api.access.needs_login()) {
    json["csrf_token"] = csrf_token_of(*session);
  }
  if (!request.caller.project.empty()) {
    json["project"] = request.caller.project;
    json["shared"] = request.caller.name.empty();
  }
  return json_response(dump(json));
}

Result<Response> list_users(const Api& api, const Request&) {
  nlohmann::json list = nlohmann::json::array();
  for (const UserFacts& user : api.access.list_users()) {
    list.push_back(
        {{"name", user.name}, {"role", name_of(user.role)}, {"created_us", user.created_us}});
  }
  return json_response(dump({{"users", std::move(list)}}));
}

Result<Role> role_of(const std::string& name) {
  const auto role = parse_role(name);
  if (!role || *role == Role::None) {
    return fail(ErrorKind::Usage, fmt::format("a role is view, write or admin, not '{}'", name));
  }
  return *role;
}

Result<Response> put_user(const Api& api, const Request& request) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"role", "password"}));
  const std::string& name = request.parameter("user");
  const Role role = KEDGE_TRY(role_of(KEDGE_TRY(find_text(json, "role")).value_or("view")));
  KEDGE_TRY(api.access.put_user(name, role, KEDGE_TRY(find_text(json, "password"))));
  api.audit(request, "user.put", name, {{"role", name_of(role)}});
  return json_response(dump({{"name", name}, {"role", name_of(role)}}));
}

Result<Response> delete_user(const Api& api, const Request& request) {
  const std::string& name = request.parameter("user");
  if (name == request.caller.name) {
    return error_response(409, "nobody can remove themselves");
  }
  if (!KEDGE_TRY(api.access.remove_user(name))) {
    return fail(ErrorKind::NotFound, fmt::format("there is no user '{}'", name));
  }
  api.audit(request, "user.delete", name);
  return Response{.status = 204};
}

Result<Response> list_grants(const Api& api, const Request& request, GrantKind kind) {
  nlohmann::json list = nlohmann::json::array();
  for (const Grant& grant : api.access.list_grants(kind, request.caller)) {
    list.push_back(render_grant(grant));
  }
  return json_response(dump({{kind == GrantKind::Token ? "tokens" : "shares", std::move(list)}}));
}

// The highest of the scopes; the caller's own role where none is named.
Result<Role> scope_of(const nlohmann::json& json, Role most) {
  const auto scopes = KEDGE_TRY(find_texts(json, "scopes"));
  Role role = scopes ? Role::View : most;
  for (const std::string& scope : scopes.value_or(std::vector<std::string>())) {
    role = std::max(role, KEDGE_TRY(role_of(scope)));
  }
  if (role > most) {
    return fail(ErrorKind::Usage,
                fmt::format("what you logged in with may only '{}'", name_of(most)),
                "a token can do no more than what it is made with");
  }
  return role;
}

// When it ends; never after what it is made with.
Result<std::int64_t> expiry_of(const Api& api, const Caller& caller, const nlohmann::json& json) {
  const auto seconds = KEDGE_TRY(find_integer(json, "expires_in_s"));
  if (seconds && (*seconds < 0 || *seconds > 100LL * 365 * 86'400)) {
    return fail(ErrorKind::Usage, "expires_in_s is 0 (never) to 100 years");
  }
  if (!seconds) {
    return caller.expires_us;
  }
  const std::int64_t expires_us = *seconds == 0 ? 0 : api.now_us() + *seconds * kSecond;
  if (caller.expires_us != 0 && (expires_us == 0 || expires_us > caller.expires_us)) {
    return fail(ErrorKind::Usage, "it would last longer than what you logged in with",
                fmt::format("that ends in {} s", (caller.expires_us - api.now_us()) / kSecond));
  }
  return expires_us;
}

Result<Grant> parse_grant(const Api& api, const Request& request, GrantKind kind) {
  const nlohmann::json json = KEDGE_TRY(parse_object(request));
  KEDGE_TRY(check_names(json, {"name", "scopes", "project", "run", "expires_in_s"}));
  Grant grant{.kind = kind, .user = request.caller.name};
  grant.label = KEDGE_TRY(find_text(json, "name")).value_or("");
  grant.project = KEDGE_TRY(find_text(json, "project")).value_or("");
  grant.run = KEDGE_TRY(find_text(json, "run")).value_or("");
  const bool is_share = kind == GrantKind::Share;
  grant.role = is_share ? Role::View : KEDGE_TRY(scope_of(json, request.caller.role));
  if (is_share && grant.project.empty()) {
    return fail(ErrorKind::Usage, "a link needs a project");
  }
  if (!grant.run.empty() && grant.project.empty()) {
    return fail(ErrorKind::Usage, "'run' needs its project beside it");
  }
  grant.expires_us = KEDGE_TRY(expiry_of(api, request.caller, json));
  return grant;
}

Result<Response> make_grant(const Api& api, const Request& request, GrantKind kind) {
  const Grant grant = KEDGE_TRY(parse_grant(api, request, kind));
  const bool is_share = kind == GrantKind::Share;
  const NewGrant made = KEDGE_TRY(api.access.make_grant(grant));
  api.audit(request, is_share ? "share.make" : "token.make", made.grant.id,
            {{"role", name_of(grant.role)}, {"project", grant.project}});
  nlohmann::json answer = render_grant(made.grant);
  answer["token"] = made.secret;
  return json_response(dump(answer), 201);
}

Result<Response> delete_grant(const Api& api, const Request& request, GrantKind kind) {
  const std::string& id = request.parameter("grant");
  if (!KEDGE_TRY(api.access.remove_grant(kind, id, request.caller))) {
    return fail(ErrorKind::NotFound, fmt::format("there is no '{}' of yours", id));
  }
  api.audit(request, kind == GrantKind::Share ? "share.delete" : "token.delete", id);
  return Response{.status = 204};
}

void add_grant_routes(Router& router, const Api& api, const std::string& path, GrantKind kind) {
  const Role maker = kind == GrantKind::Share ? Role::Write : Role::View;
  router.add(Method::Get, path, {},
             [&api, kind](const Request& request) { return list_grants(api, request, kind); });
  router.add(Method::Post, path, {.role = maker},
             [&api, kind](const Request& request) { return make_grant(api, request, kind); });
  router.add(Method::Delete, path + "/{grant}", {.role = maker},
             [&api, kind](const Request& request) { return delete_grant(api, request, kind); });
}

}  // namespace

void add_user_routes(Router& router, const Api& api) {
  const auto add = [&](Method method, std::string pattern, RouteOptions options,
                       Result<Response> (*handler)(const Api&, const Request&)) {
    router.add(method, std::move(pattern), options,
               [&api, handler](const Request& request) { return handler(api, request); });
  };
  add(Method::Post, "/api/v1/login", {.role = Role::None, .max_body_bytes = 4096}, login);
  add(Method::Post, "/api/v1/logout", {.role = Role::None, .max_body_bytes = 4096}, logout);
  add(Method::Post, "/api/v1/entries", {.is_scoped = true}, make_entry);
  add(Method::Get, "/enter/{token}", {.role = Role::None}, enter);
  add(Method::Get, "/api/v1/me", {.is_scoped = true}, me);
  add(Method::Get, "/api/v1/users", {.role = Role::Admin}, list_users);
  add(Method::Put, "/api/v1/users/{user}", {.role = Role::Admin, .max_body_bytes = 4096}, put_user);
  add(Method::Delete, "/api/v1/users/{user}", {.role = Role::Admin}, delete_user);
  add_grant_routes(router, api, "/api/v1/tokens", GrantKind::Token);
  add_grant_routes(router, api, "/api/v1/shares", GrantKind::Share);
}

}  // namespace kedge::server
