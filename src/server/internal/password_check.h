// Whether a password is right, so that guessing is slow, its time does not tell which users there
// are, and nobody can lock out a user by guessing from elsewhere. For any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "server/internal/rate_limit.h"

namespace kedge::server {

struct PasswordTry {
  std::string user;
  std::string password;
  std::string hashed;  // of that user; empty: there is none, or it has no password
  std::string peer;    // the address it comes from
};

class PasswordCheck {
 public:
  explicit PasswordCheck(std::function<std::int64_t()> now_us);

  // It was right before, and is still the user's: no hash is needed, and no limit holds.
  bool is_known(const PasswordTry& attempt) const;

  // Takes a tenth of a second, also for a user that does not exist: not for a connection's thread.
  // False: wrong, or tried too often from that address.
  bool is_right(const PasswordTry& attempt);

 private:
  struct Known {
    std::string digest;  // of the password, with a key that only this process has
    std::string hashed;  // what it was checked against: another one means another password
  };

  std::string digest_of(const PasswordTry& attempt) const;
  bool may_try(const PasswordTry& attempt);

  std::function<std::int64_t()> now_us_;
  std::string key_;
  std::string nobody_;  // what those who do not exist are checked against
  mutable std::mutex mutex_;
  std::map<std::string, Known> known_ = {};
  RateLimit by_user_and_peer_;
  RateLimit by_peer_;
};

}  // namespace kedge::server
