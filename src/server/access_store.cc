#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/file_digest.h"
#include "core/log.h"
#include "server/access.h"
#include "server/internal/secrets.h"
#include "store/users.h"

namespace kedge::server {
namespace {

constexpr std::size_t kMinPassword = 8;

bool is_user_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             ".-_@") == std::string_view::npos;
}

bool is_seen_by(const http::Caller& caller, const Grant& grant) {
  return caller.role == http::Role::Admin || grant.user == caller.name;
}

}  // namespace

Access::Access(store::Store& store, AccessOptions options, std::function<std::int64_t()> now_us)
    : store_(store),
      options_(std::move(options)),
      now_us_(std::move(now_us)),
      owner_hash_(options_.owner ? sha256_of(options_.owner->key) : ""),
      passwords_(now_us_),
      requests_(options_.requests_per_second, 2 * options_.requests_per_second),
      failures_(0.2, 20) {}

Result<std::unique_ptr<Access>> Access::open(store::Store& store, AccessOptions options,
                                             std::function<std::int64_t()> now_us) {
  auto access = std::unique_ptr<Access>(new Access(store, std::move(options), std::move(now_us)));
  if (access->needs_login()) {
    KEDGE_TRY(access->load());
    KEDGE_TRY(access->close_planted_users());
  }
  return access;
}

// Older servers let anybody make users where nobody had to log in; the audit has such lines without
// a name. Whoever is on the newest line of a user vouches for them.
Result<void> Access::close_planted_users() {
  for (const auto& [name, voucher] : KEDGE_TRY(store::Users(store_).vouchers())) {
    const auto user = users_.find(name);
    if (voucher.empty() && user != users_.end()) {
      user->second = {.facts = {.name = name,
                                .role = http::Role::None,
                                .created_us = user->second.facts.created_us}};
      warn(
          "the user '{}' was made while nobody had to log in, and may do nothing until an admin "
          "gives them a role and a password",
          name);
    }
  }
  return {};
}

Result<void> Access::need_login() const {
  return options_.needs_login
             ? Result<void>()
             : fail(ErrorKind::Usage, "this server asks nobody to log in",
                    "start it without --auth none to have users, tokens and links");
}

Result<void> Access::load() {
  const store::Users stored(store_);
  for (const store::StoredUser& user : KEDGE_TRY(stored.list())) {
    users_[user.name] = {.facts = {.name = user.name,
                                   .role = parse_role(user.role).value_or(http::Role::None),
                                   .created_us = user.created_us},
                         .password = user.password};
  }
  for (const store::StoredGrant& grant : KEDGE_TRY(stored.grants())) {
    grants_[grant.hash] = {.id = grant.id,
                           .kind = static_cast<GrantKind>(grant.kind),
                           .user = grant.user,
                           .label = grant.label,
                           .role = parse_role(grant.role).value_or(http::Role::None),
                           .project = grant.project,
                           .run = grant.run,
                           .created_us = grant.created_us,
                           .expires_us = grant.expires_us};
  }
  return {};
}

std::vector<UserFacts> Access::list_users() const {
  const std::scoped_lock lock(mutex_);
  std::vector<UserFacts> list;
  list.reserve(users_.size());
  for (const auto& [name, user] : users_) {
    list.push_back(user.facts);
  }
  if (options_.owner && !users_.contains(options_.owner->name)) {
    list.push_back({.name = options_.owner->name, .role = http::Role::Admin});
  }
  return list;
}

bool Access::has_users() const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(
      users_, [](const auto& entry) { return entry.second.facts.role != http::Role::None; });
}

Result<void> Access::put_user(const std::string& name, http::Role role,
                              const std::optional<std::string>& password) {
  KEDGE_TRY(need_login());
  if (!is_user_name(name)) {
    return fail(ErrorKind::Usage, fmt::format("'{}' cannot be a user's name", name),
                "up to 64 letters, digits and . - _ @");
  }
  if (password && password->size() < kMinPassword) {
    return fail(ErrorKind::Usage,
                fmt::format("a password has at least {} characters", kMinPassword));
  }
  User user;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = users_.find(name);
    user = found != users_.end() ? found->second
                                 : User{.facts = {.name = name, .created_us = now_us_()}};
  }
  user.facts.role = role;
  if (password) {
    user.password = hash_password(*password);
  }
  const bool ends_secrets = password.has_value();
  KEDGE_TRY(store::Users(store_).put(
      {.name = name,
       .role = std::string(name_of(role)),
       .password = user.password,
       .created_us = user.facts.created_us},
      ends_secrets ? std::optional(static_cast<std::int64_t>(GrantKind::Share)) : std::nullopt));
  const std::scoped_lock lock(mutex_);
  users_[name] = std::move(user);
  if (ends_secrets) {
    std::erase_if(grants_, [&](const auto& entry) {
      return entry.second.user == name && entry.second.kind != GrantKind::Share;
    });
    std::erase_if(entries_, [&](const auto& entry) { return entry.second.user == name; });
  }
  return {};
}

Result<bool> Access::remove_user(const std::string& name) {
  KEDGE_TRY(need_login());
  KEDGE_TRY(store::Users(store_).remove(name));
  const std::scoped_lock lock(mutex_);
  const auto is_theirs = [&](const auto& entry) { return entry.second.user == name; };
  std::erase_if(grants_, is_theirs);
  std::erase_if(entries_, is_theirs);
  return users_.erase(name) > 0;
}

Result<NewGrant> Access::make_grant(Grant grant) {
  KEDGE_TRY(need_login());
  const std::string secret = make_secret();
  grant.id = make_id();
  grant.created_us = now_us_();
  const std::string hash = sha256_of(secret);
  KEDGE_TRY(store::Users(store_).add_grant({.hash = hash,
                                            .id = grant.id,
                                            .kind = static_cast<std::int64_t>(grant.kind),
                                            .user = grant.user,
                                            .label = grant.label,
                                            .role = std::string(name_of(grant.role)),
                                            .project = grant.project,
                                            .run = grant.run,
                                            .created_us = grant.created_us,
                                            .expires_us = grant.expires_us}));
  const std::scoped_lock lock(mutex_);
  grants_[hash] = grant;
  return NewGrant{grant, secret};
}

std::vector<Grant> Access::list_grants(GrantKind kind, const http::Caller& caller) const {
  const std::scoped_lock lock(mutex_);
  std::vector<Grant> list;
  for (const auto& [hash, grant] : grants_) {
    if (grant.kind == kind && is_seen_by(caller, grant)) {
      list.push_back(grant);
    }
  }
  std::ranges::sort(list, {}, &Grant::created_us);
  return list;
}

Result<bool> Access::remove_grant(GrantKind kind, const std::string& id,
                                  const http::Caller& caller) {
  const auto is_it = [&](const Grant& grant) {
    return grant.kind == kind && grant.id == id && is_seen_by(caller, grant) &&
           grant.role <= caller.role;
  };
  std::string hash;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [known, grant] : grants_) {
      hash = is_it(grant) ? known : hash;
    }
  }
  if (hash.empty()) {
    return false;
  }
  KEDGE_TRY(store::Users(store_).remove_grant(hash));
  const std::scoped_lock lock(mutex_);
  return grants_.erase(hash) > 0;
}

Result<void> Access::logout(const http::Request& request) {
  const auto secret = session_cookie(request);
  if (!secret) {
    return {};
  }
  const std::string hash = sha256_of(*secret);
  {
    const std::scoped_lock lock(mutex_);
    const auto found = grants_.find(hash);
    if (found == grants_.end() || found->second.kind != GrantKind::Session) {
      return {};
    }
    grants_.erase(found);
  }
  return store::Users(store_).remove_grant(hash);
}

}  // namespace kedge::server
