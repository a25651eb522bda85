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
#include "server/http.h"
#include "store/store.h"

namespace kedge::server {

std::string_view name_of(Role role);  // none, view, write, admin
std::optional<Role> parse_role(std::string_view name);

struct AccessOptions {
  bool needs_login = false;  // --auth
  // Names that a request's Host may have; empty: any. A server on 127.0.0.1 must know its own, or
  // a page anywhere could reach it by a name that resolves to it.
  std::vector<std::string> hosts = {};
  double requests_per_second = 0;  // of one address; 0: no limit
};

struct UserFacts {
  std::string name;
  Role role = Role::View;
  std::int64_t created_us = 0;
};

enum class GrantKind : std::uint8_t { Token, Session, Share };

// What the holder of a secret may do.
struct Grant {
  std::string id = {};  // to name it by: it is no secret
  GrantKind kind = GrantKind::Token;
  std::string user = {};
  std::string label = {};
  Role role = Role::View;
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
  std::optional<Response> check(Request& request, const Route* route);

  bool needs_login() const { return options_.needs_login; }

  // --- users
  std::vector<UserFacts> list_users() const;
  // Usage for a bad name or a password under 8 characters; an existing user is changed.
  Result<void> put_user(const std::string& name, Role role,
                        const std::optional<std::string>& password);
  Result<bool> remove_user(const std::string& name);  // with the tokens; false: nobody
  bool has_users() const;

  // --- secrets
  Result<NewGrant> make_grant(Grant grant);
  std::vector<Grant> list_grants(GrantKind kind, const std::string& user) const;  // "": everybody's
  Result<bool> remove_grant(GrantKind kind, const std::string& id, const std::string& user);

  // A session for name and password. Nothing: wrong, or tried too often.
  Result<std::optional<NewGrant>> login(const std::string& name, const std::string& password);
  Result<void> logout(const Request& request);

  // Grants for a project follow its new name.
  void rename_project(const std::string& from, const std::string& to);

 private:
  struct User {
    UserFacts facts;
    std::string password = {};  // see internal/secrets.h; empty: nobody can log in with it
  };

  struct Bucket {
    double tokens = 0;
    std::int64_t time_us = 0;
  };

  Access(store::Store& store, AccessOptions options, std::function<std::int64_t()> now_us);
  Result<void> load();
  std::optional<Response> check_host(const Request& request) const;
  std::optional<Response> check_rate(const Request& request);
  std::optional<Response> check_origin(const Request& request, bool is_by_cookie) const;
  std::optional<Response> check_role(const Request& request, const Route& route) const;
  std::optional<Grant> find_grant(const Request& request, bool& is_by_cookie) const;
  std::optional<Grant> find_password(std::string_view authorization);
  bool take(std::map<std::string, Bucket>& buckets, const std::string& peer, double per_second,
            double burst);

  store::Store& store_;
  AccessOptions options_;
  std::function<std::int64_t()> now_us_;
  mutable std::mutex mutex_;
  std::map<std::string, User> users_;
  std::unordered_map<std::string, Grant> grants_;            // by the secret's SHA-256
  std::unordered_map<std::string, std::int64_t> passwords_;  // "user hash of it": good until
  std::map<std::string, Bucket> requests_;
  std::map<std::string, Bucket> failures_;
};

// What a session must send in X-CSRF-Token with every change: derived from its cookie, which other
// sites' pages can make a browser send but cannot read.
std::string csrf_token_of(std::string_view session_secret);

// The session's cookie, or nothing.
std::optional<std::string> session_cookie(const Request& request);

// Usage, as 403, when the caller is confined to another project.
Result<void> check_project(const Caller& caller, const std::string& project,
                           const std::string& run = {});

}  // namespace kedge::server
