#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mlflow/internal/call.h"

namespace kedge::mlflow {
namespace {

using http::Method;
using http::Response;
using http::Role;
using server::UserFacts;

constexpr std::size_t kMinPassword = 12;

nlohmann::json render_user(const UserFacts& user) {
  // MLflow's users have numbers; a number made of the name serves those who show it.
  return {{"id", std::hash<std::string>()(user.name) % 1'000'000'000},
          {"username", user.name},
          {"is_admin", user.role == Role::Admin}};
}

Outcome<UserFacts> load_user(const Call& call, const std::string& name) {
  for (const UserFacts& user : call.api.access.list_users()) {
    if (user.name == name) {
      return user;
    }
  }
  return refuse(Code::ResourceDoesNotExist, fmt::format("User with username={} not found", name));
}

bool is_admin(const Call& call) {
  return call.request.caller.role == Role::Admin;
}

Outcome<void> check_admin(const Call& call) {
  return is_admin(call) ? Outcome<void>() : refuse(Code::PermissionDenied, "Permission denied");
}

Outcome<void> check_password(const std::string& password) {
  if (password.size() < kMinPassword) {
    return refuse(
        fmt::format("Password must be a string longer than {} characters.", kMinPassword));
  }
  return {};
}

Outcome<Response> create_user(const Call& call) {
  KEDGE_TRY(check_admin(call));
  const std::string name = KEDGE_TRY(call.fields.need_text("username"));
  const std::string password = KEDGE_TRY(call.fields.need_text("password"));
  KEDGE_TRY(check_password(password));
  if (load_user(call, name)) {
    return refuse(Code::ResourceAlreadyExists,
                  fmt::format("User (username={}) already exists.", name));
  }
  KEDGE_TRY(call.api.access.put_user(name, Role::Write, password));
  call.api.audit(call.request, "user.create", name);
  return reply({{"user", render_user(KEDGE_TRY(load_user(call, name)))}});
}

Outcome<Response> get_user(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("username"));
  if (name != call.request.caller.name) {
    KEDGE_TRY(check_admin(call));
  }
  return reply({{"user", render_user(KEDGE_TRY(load_user(call, name)))}});
}

Outcome<Response> current(const Call& call) {
  return reply({{"user", render_user(KEDGE_TRY(load_user(call, call.request.caller.name)))}});
}

Outcome<Response> list_users(const Call& call) {
  KEDGE_TRY(check_admin(call));
  nlohmann::json body = nlohmann::json::object();
  for (const UserFacts& user : call.api.access.list_users()) {
    body["users"].push_back(render_user(user));
  }
  return reply(body);
}

Outcome<Response> update_password(const Call& call) {
  const std::string name = KEDGE_TRY(call.fields.need_text("username"));
  const std::string password = KEDGE_TRY(call.fields.need_text("password"));
  KEDGE_TRY(check_password(password));
  // A key that somebody was lent must not become the whole account.
  const bool is_own = name == call.request.caller.name && call.request.caller.is_by_password;
  if (!is_own && !is_admin(call)) {
    return refuse(Code::PermissionDenied,
                  "A password is changed by an admin, or with the user's own name and password");
  }
  const UserFacts user = KEDGE_TRY(load_user(call, name));
  KEDGE_TRY(call.api.access.put_user(name, user.role, password));
  call.api.audit(call.request, "user.password", name);
  return reply_empty();
}

Outcome<Response> update_admin(const Call& call) {
  KEDGE_TRY(check_admin(call));
  const std::string name = KEDGE_TRY(call.fields.need_text("username"));
  const bool is_to_be = KEDGE_TRY(call.fields.boolean("is_admin", false));
  KEDGE_TRY(load_user(call, name));
  KEDGE_TRY(call.api.access.put_user(name, is_to_be ? Role::Admin : Role::Write, std::nullopt));
  call.api.audit(call.request, "user.role", name);
  return reply_empty();
}

Outcome<Response> remove_user(const Call& call) {
  KEDGE_TRY(check_admin(call));
  const std::string name = KEDGE_TRY(call.fields.need_text("username"));
  KEDGE_TRY(load_user(call, name));
  KEDGE_TRY(call.api.access.remove_user(name));
  call.api.audit(call.request, "user.delete", name);
  return reply_empty();
}

}  // namespace

void add_user_calls(Calls& calls) {
  calls.write(Method::Post, "users/create", create_user);
  calls.read(Method::Get, "users/get", get_user);
  calls.read(Method::Get, "users/current", current);
  calls.read(Method::Get, "users/list", list_users);
  calls.read(Method::Patch, "users/update-password", update_password);
  calls.write(Method::Patch, "users/update-admin", update_admin);
  calls.write(Method::Delete, "users/delete", remove_user);
}

}  // namespace kedge::mlflow
