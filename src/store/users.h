// Who may use a server: users and the secrets that were given out. What a role or a kind of grant
// means is the server's business; here they are words and numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/store.h"

namespace kedge::store {

struct StoredUser {
  std::string name = {};
  std::string role = {};
  std::string password = {};  // a hash of it; empty: nobody can log in with one
  std::int64_t created_us = 0;
};

struct StoredGrant {
  std::string hash = {};  // of the secret
  std::string id = {};
  std::int64_t kind = 0;
  std::string user = {};
  std::string label = {};
  std::string role = {};
  std::string project = {};
  std::string run = {};
  std::int64_t created_us = 0;
  std::int64_t expires_us = 0;
};

class Users {
 public:
  explicit Users(Store& store) : store_(store) {}

  Result<std::vector<StoredUser>> list() const;
  Result<std::vector<StoredGrant>> grants() const;
  // By user: who made the newest change of them that the audit knows. Empty: nobody had logged in.
  Result<std::map<std::string, std::string>> vouchers() const;

  // Makes or changes one. `kept_grants`: all grants of the user but those of this kind end in the
  // same change.
  Result<void> put(const StoredUser& user, std::optional<std::int64_t> kept_grants = {});
  Result<void> remove(const std::string& name);  // with all grants
  Result<void> add_grant(const StoredGrant& grant);
  Result<void> remove_grant(const std::string& hash);

 private:
  Store& store_;
};

}  // namespace kedge::store
