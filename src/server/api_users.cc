#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/internal/routes.h"

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

http::Response session_response(const http::Request& request, const NewGrant& session) {
  http::Response response = http::json_response(
      dump({{"user", session.grant.user}, {"csrf_token", csrf_token_of(session.secret)}}));
  response.headers.add("Set-Cookie", set_session_cookie(request, session.secret));
  return response;
}

Result<http::Response> login(const Api& api, const http::Request& request, const Input& input) {
  const std::string user = input.at("user");
  const std::string password = input.at("password");
  const auto key = find<std::string>(input, "key");
  const auto session = KEDGE_TRY(key ? api.access.login_with_key(*key, request.peer)
                                     : api.access.login(user, password, request.peer));
  if (!session) {
    api.audit(request, "login.refused", user.substr(0, 64), {{"peer", request.peer}});
    return http::error_response(401, key ? "the key is wrong" : "the name or the password is wrong",
                                "or it was tried too often");
  }
  return session_response(request, *session);
}

// Opens the page once, with what the caller may do.
Result<http::Response> make_entry(const Api& api, const http::Request& request) {
  if (!api.access.needs_login()) {
    return fail(ErrorKind::Usage, "this server asks nobody to log in", "open its address");
  }
  if (request.caller.name.empty()) {
    return http::error_response(403, "a share link opens the page as it is");
  }
  const std::string secret = api.access.make_entry(request.caller);
  return http::json_response(dump({{"path", "/enter/" + secret}, {"expires_in_s", 600}}), 201);
}

Result<http::Response> enter(const Api& api, const http::Request& request) {
  const auto session = KEDGE_TRY(api.access.enter(request.parameter("token")));
  if (!session) {
    return http::error_response(401, "this link was used, or it is too old",
                                "`kedge server link` makes another");
  }
  http::Response response{.status = 303};
  response.headers.add("Location", "/");
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("Set-Cookie", set_session_cookie(request, session->secret));
  return response;
}

Result<http::Response> logout(const Api& api, const http::Request& request) {
  KEDGE_TRY(api.access.logout(request));
  http::Response response{.status = 204};
  response.headers.add("Set-Cookie", set_session_cookie(request, {}));
  return response;
}

Result<http::Response> me(const Api& api, const http::Request& request) {
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
  return http::json_response(dump(json));
}

Result<http::Response> list_users(const Api& api, const http::Request&) {
  nlohmann::json list = nlohmann::json::array();
  for (const UserFacts& user : api.access.list_users()) {
    list.push_back(
        {{"name", user.name}, {"role", name_of(user.role)}, {"created_us", user.created_us}});
  }
  return http::json_response(dump({{"users", std::move(list)}}));
}

Result<http::Response> put_user(const Api& api, const http::Request& request, const Input& input) {
  const std::string& name = request.parameter("user");
  const http::Role role =
      parse_role(input.at("role").get<std::string>()).value_or(http::Role::View);
  KEDGE_TRY(api.access.put_user(name, role, find<std::string>(input, "password")));
  api.audit(request, "user.put", name, {{"role", name_of(role)}});
  return http::json_response(dump({{"name", name}, {"role", name_of(role)}}));
}

Result<http::Response> delete_user(const Api& api, const http::Request& request) {
  const std::string& name = request.parameter("user");
  if (name == request.caller.name) {
    return http::error_response(409, "nobody can remove themselves");
  }
  if (!KEDGE_TRY(api.access.remove_user(name))) {
    return fail(ErrorKind::NotFound, fmt::format("there is no user '{}'", name));
  }
  api.audit(request, "user.delete", name);
  return http::Response{.status = 204};
}

Result<http::Response> list_grants(const Api& api, const http::Request& request, GrantKind kind) {
  nlohmann::json list = nlohmann::json::array();
  for (const Grant& grant : api.access.list_grants(kind, request.caller)) {
    list.push_back(render_grant(grant));
  }
  return http::json_response(
      dump({{kind == GrantKind::Token ? "tokens" : "shares", std::move(list)}}));
}

// The highest of the scopes; the caller's own role where none is named.
Result<http::Role> scope_of(const Input& input, http::Role most) {
  http::Role role = input.contains("scopes") ? http::Role::View : most;
  for (const std::string scope : input.value("scopes", Input::array())) {
    role = std::max(role, parse_role(scope).value_or(http::Role::View));
  }
  if (role > most) {
    return fail(ErrorKind::Usage,
                fmt::format("what you logged in with may only '{}'", name_of(most)),
                "a token can do no more than what it is made with");
  }
  return role;
}

// When it ends; never after what it is made with.
Result<std::int64_t> expiry_of(const Api& api, const http::Caller& caller, const Input& input) {
  const auto seconds = find<std::int64_t>(input, "expires_in_s");
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

Result<Grant> grant_of(const Api& api, const http::Request& request, const Input& input,
                       GrantKind kind) {
  Grant grant{.kind = kind, .user = request.caller.name};
  grant.label = input.at("name");
  grant.project = input.at("project");
  grant.run = input.at("run");
  const bool is_share = kind == GrantKind::Share;
  grant.role = is_share ? http::Role::View : KEDGE_TRY(scope_of(input, request.caller.role));
  if (is_share && grant.project.empty()) {
    return fail(ErrorKind::Usage, "a link needs a project");
  }
  if (!grant.run.empty() && grant.project.empty()) {
    return fail(ErrorKind::Usage, "'run' needs its project beside it");
  }
  grant.expires_us = KEDGE_TRY(expiry_of(api, request.caller, input));
  return grant;
}

Result<http::Response> make_grant(const Api& api, const http::Request& request, const Input& input,
                                  GrantKind kind) {
  const Grant grant = KEDGE_TRY(grant_of(api, request, input, kind));
  const bool is_share = kind == GrantKind::Share;
  const NewGrant made = KEDGE_TRY(api.access.make_grant(grant));
  api.audit(request, is_share ? "share.make" : "token.make", made.grant.id,
            {{"role", name_of(grant.role)}, {"project", grant.project}});
  nlohmann::json answer = render_grant(made.grant);
  answer["token"] = made.secret;
  return http::json_response(dump(answer), 201);
}

Result<http::Response> delete_grant(const Api& api, const http::Request& request, GrantKind kind) {
  const std::string& id = request.parameter("grant");
  if (!KEDGE_TRY(api.access.remove_grant(kind, id, request.caller))) {
    return fail(ErrorKind::NotFound, fmt::format("there is no '{}' of yours", id));
  }
  api.audit(request, kind == GrantKind::Share ? "share.delete" : "token.delete", id);
  return http::Response{.status = 204};
}

void add_grant_routes(Routes& routes, GrantKind kind) {
  const Api& api = routes.api();
  const bool is_share = kind == GrantKind::Share;
  const std::string path = is_share ? "/api/v1/shares" : "/api/v1/tokens";
  const http::RouteOptions maker = {.role = is_share ? http::Role::Write : http::Role::View};
  routes.add(http::Method::Get, path,
             {.summary = is_share ? "Your links; an admin's: everybody's"
                                  : "Your tokens; an admin's: everybody's",
              .answer = is_share ? "{shares: Grant[]}" : "{tokens: Grant[]}"},
             [&api, kind](const http::Request& request, const Input&) {
               return list_grants(api, request, kind);
             });
  routes.add(http::Method::Post, path,
             {.summary = is_share ? "Make a link; its secret is shown once"
                                  : "Make a token; its secret is shown once",
              .options = maker,
              .body = "NewGrant",
              .answer = "Grant & {token: string}",
              .statuses = {201}},
             [&api, kind](const http::Request& request, const Input& input) {
               return make_grant(api, request, input, kind);
             });
  routes.add(http::Method::Delete, path + "/{grant}",
             {.summary = is_share ? "Remove a link" : "Remove a token", .options = maker},
             [&api, kind](const http::Request& request, const Input&) {
               return delete_grant(api, request, kind);
             });
}

void name_user_shapes(Routes& routes) {
  routes.name("Role", "'view' | 'write' | 'admin'");
  routes.name("Me", R"({
    user: string,
    role: Role,
    auth: boolean,  // false: the server asks nobody to log in
    csrf_token?: string,  // of a session
    project?: string,  // the only one that the caller may see
    shared?: boolean,  // through a link
  })");
  routes.name("User", "{name: string, role: Role, created_us: time}");
  routes.name("Grant", R"({
    id: string,
    name: string,
    user: string,  // who made it
    scopes: Role[],
    project: string,
    run: string,
    created_us: time,
    expires_us: time | null,
  })");
  routes.name("NewGrant", R"({
    name?: string = "",
    scopes?: Role[],  // the highest counts; without: what the caller may do
    project?: string = "",  // only this one; a link needs it
    run?: string = "",  // only this run of it
    expires_in_s?: integer(0..3153600000),  // 0: never, where what it is made with allows that
  })");
}

}  // namespace

void add_user_routes(Routes& routes) {
  name_user_shapes(routes);
  const std::string user = "/api/v1/users/{user}";
  const http::RouteOptions open = {.role = http::Role::None, .max_body_bytes = 4096};
  routes.add(http::Method::Post, "/api/v1/login",
             {.summary = "A session, as a cookie: for a user and a password, or for a key",
              .options = open,
              .body = R"({
                user?: string = "",
                password?: string = "",
                key?: string,  // a token, in place of user and password
              })",
              .answer = "{user: string, csrf_token: string}"},
             login);
  routes.add(http::Method::Post, "/api/v1/logout", {.summary = "End the session", .options = open},
             logout);
  routes.add(http::Method::Post, "/api/v1/entries",
             {.summary = "A link that opens the page once, within ten minutes, with what the "
                         "caller may do",
              .options = {.is_scoped = true},
              .answer = R"({
                path: string,  // below the server's address
                expires_in_s: integer,
              })",
              .statuses = {201}},
             make_entry);
  routes.add(http::Method::Get, "/enter/{token}",
             {.summary = "The page, with a session, for a link of /api/v1/entries",
              .options = {.role = http::Role::None},
              .statuses = {303}},
             enter);
  routes.add(http::Method::Get, "/api/v1/me",
             {.summary = "Who the caller is", .options = {.is_scoped = true}, .answer = "Me"}, me);
  routes.add(
      http::Method::Get, "/api/v1/users",
      {.summary = "Users", .options = {.role = http::Role::Admin}, .answer = "{users: User[]}"},
      list_users);
  routes.add(http::Method::Put, user,
             {.summary = "Make or change a user",
              .options = {.role = http::Role::Admin, .max_body_bytes = 4096},
              .body = "{role?: Role = \"view\", password?: string}",
              .answer = "{name: string, role: Role}"},
             put_user);
  routes.add(http::Method::Delete, user,
             {.summary = "Remove a user with all tokens", .options = {.role = http::Role::Admin}},
             delete_user);
  add_grant_routes(routes, GrantKind::Token);
  add_grant_routes(routes, GrantKind::Share);
}

}  // namespace kedge::server
