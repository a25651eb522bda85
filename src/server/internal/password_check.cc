#include "server/internal/password_check.h"

#include <utility>

#include <fmt/format.h>

#include "core/file_digest.h"
#include "core/random_text.h"
#include "server/internal/secrets.h"

namespace kedge::server {

// Limits hold for an address, never for a user alone: else anybody could lock anybody out.
PasswordCheck::PasswordCheck(std::function<std::int64_t()> now_us)
    : now_us_(std::move(now_us)),
      key_(make_random_hex(32)),
      nobody_(hash_of_no_password()),
      by_user_and_peer_(0.2, 20),
      by_peer_(1, 100) {}

std::string PasswordCheck::digest_of(const PasswordTry& attempt) const {
  return sha256_of(fmt::format("{} {}", key_, attempt.password));
}

bool PasswordCheck::is_known(const PasswordTry& attempt) const {
  const std::string digest = digest_of(attempt);
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(attempt.user);
  return found != known_.end() && found->second.digest == digest &&
         found->second.hashed == attempt.hashed;
}

bool PasswordCheck::may_try(const PasswordTry& attempt) {
  const std::scoped_lock lock(mutex_);
  const std::int64_t now_us = now_us_();
  return by_user_and_peer_.take(fmt::format("{} {}", attempt.peer, attempt.user), now_us) &&
         by_peer_.take(attempt.peer, now_us);
}

bool PasswordCheck::is_right(const PasswordTry& attempt) {
  if (is_known(attempt)) {
    return true;
  }
  if (!may_try(attempt)) {
    return false;
  }
  const bool is_user = !attempt.hashed.empty();
  if (!is_password(attempt.password, is_user ? attempt.hashed : nobody_) || !is_user) {
    return false;
  }
  const std::scoped_lock lock(mutex_);
  known_[attempt.user] = {digest_of(attempt), attempt.hashed};
  return true;
}

}  // namespace kedge::server
