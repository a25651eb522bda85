// Who may do what: users with roles, tokens, sessions of the page, share links, limits per address.
// Tokens are 256 random bits and kept only as their SHA-256; passwords only as scrypt. Everything
// needed to judge a request is in memory; changes are written through to the store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "http/http.h"
#include "server/internal/password_check.h"
#include "server/internal/rate_limit.h"
#include "store/store.h"

namespace kedge::server {

std::string_view name_of(http::Role role);  // none, view, write, admin
std::optional<http::Role> parse_role(std::string_view name);

// Who started the server. Their key is an admin's and in no database.
struct Owner {
  std::string name;
  std::string key;
};

struct AccessOptions {
  bool needs_login = false;  // false: everybody is an admin, and there are no users
  std::optional<Owner> owner = {};
  // Names that a request's Host may have; empty: any. A server on 127.0.0.1 must know its own, or
  // a page anywhere could reach it by a name that resolves to it.
  std::vector<std::string> hosts = {};
  double requests_per_second = 0;  // of one address; 0: no limit
};

struct UserFacts {
  std::string name;
  http::Role role = http::Role::View;
  std::int64_t created_us = 0;
};

enum class GrantKind : std::uint8_t { Token, Session, Share };

// What the holder of a secret may do.
struct Grant {
  std::string id = {};  // to name it by: it is no secret
  GrantKind kind = GrantKind::Token;
  std::string user = {};
  std::string label = {};
  http::Role role = http::Role::View;
  std::string project = {};  // not empty: only there
  std::string run = {};      // not empty: only this run of the project
  std::int64_t created_us = 0;
  std::int64_t expires_us = 0;  // 0: never
};

struct NewGrant {
  Grant grant;
  std::string secret;  // shown once
};

class Access {
 public:
  static Result<std::unique_ptr<Access>> open(store::Store& store, AccessOptions options,
                                              std::function<std::int64_t()> now_us);

  // The gate of the listener: fills in the caller, or refuses.
  std::optional<http::Response> check(http::Request& request, const http::Route* route);
  // Whether check() has to hash a password, which takes a tenth of a second.
  bool is_slow(const http::Request& request, const http::Route* route) const;

  bool needs_login() const { return options_.needs_login; }

  // --- users. All that changes them is Usage where nobody has to log in: whoever came first could
  // make themselves the admin of later.
  std::vector<UserFacts> list_users() const;
  // Usage for a bad name or a password under 8 characters; an existing user is changed. Another
  // password ends the user's sessions and tokens.
  Result<void> put_user(const std::string& name, http::Role role,
                        const std::optional<std::string>& password);
  Result<bool> remove_user(const std::string& name);  // with the tokens; false: nobody
  bool has_users() const;                             // who may do anything

  // --- secrets
  Result<NewGrant> make_grant(Grant grant);
  // Everybody's for an admin, else one's own.
  std::vector<Grant> list_grants(GrantKind kind, const http::Caller& caller) const;
  // Only what the caller sees and could do themselves. False: there is no such thing.
  Result<bool> remove_grant(GrantKind kind, const std::string& id, const http::Caller& caller);

  // A session for name and password, or for a key, with what that key may do. Nothing: wrong, or
  // tried too often from that address.
  Result<std::optional<NewGrant>> login(const std::string& name, const std::string& password,
                                        const std::string& peer);
  Result<std::optional<NewGrant>> login_with_key(const std::string& key, const std::string& peer);
  Result<void> logout(const http::Request& request);

  // A secret for one session of the caller's, with what the caller may do, within ten minutes.
  std::string make_entry(const http::Caller& caller);
  // The session; nothing when the secret is unknown, used or too old.
  Result<std::optional<NewGrant>> enter(const std::string& secret);

  // Grants for a project follow its new name.
  void rename_project(const std::string& from, const std::string& to);

 private:
  struct User {
    UserFacts facts;
    std::string password = {};  // see internal/secrets.h; empty: nobody can log in with it
  };

  struct Presented;  // a secret, and which kinds of grant it may be

  Access(store::Store& store, AccessOptions options, std::function<std::int64_t()> now_us);
  Result<void> load();
  Result<void> close_planted_users();
  Result<void> need_login() const;
  std::optional<http::Response> check_host(const http::Request& request) const;
  std::optional<http::Response> check_rate(const http::Request& request);
  std::optional<http::Response> check_origin(const http::Request& request, bool is_by_cookie) const;
  std::optional<http::Response> check_role(const http::Request& request,
                                           const http::Route& route) const;
  std::optional<http::Response> refuse_stranger(const http::Request& request);
  static std::optional<Presented> presented_by(const http::Request& request);
  std::optional<Grant> find_grant(const Presented& presented) const;
  std::optional<PasswordTry> password_of(const http::Request& request) const;
  std::optional<http::Caller> find_caller(const http::Request& request, const http::Route* route);
  http::Role role_of(const std::string& user) const;  // with the mutex held
  Result<NewGrant> make_session(Grant grant);

  store::Store& store_;
  AccessOptions options_;
  std::function<std::int64_t()> now_us_;
  std::string owner_hash_;  // of the owner's key
  PasswordCheck passwords_;
  mutable std::mutex mutex_;
  std::map<std::string, User> users_;
  std::unordered_map<std::string, Grant> grants_;   // by the secret's SHA-256
  std::unordered_map<std::string, Grant> entries_;  // sessions to be, likewise
  RateLimit requests_;
  RateLimit failures_;
};

// What a session must send in X-CSRF-Token with every change: derived from its cookie, which other
// sites' pages can make a browser send but cannot read.
std::string csrf_token_of(std::string_view session_secret);

// The session's cookie, or nothing.
std::optional<std::string> session_cookie(const http::Request& request);

// The line that gives a browser its session, or takes it away when the secret is empty.
std::string set_session_cookie(const http::Request& request, std::string_view secret);

// Usage, as 403, when the caller is confined to another project.
Result<void> check_project(const http::Caller& caller, const std::string& project,
                           const std::string& run = {});

}  // namespace kedge::server
