#include "server/internal/secrets.h"

#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "core/hex.h"
#include "core/random_text.h"
#include "core/result.h"

namespace kedge::server {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

int to_int(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

constexpr std::size_t kHashBytes = 32;

std::string render_hash(const ScryptCost& cost, std::string_view salt, std::string_view hash) {
  return fmt::format("scrypt${}${}${}${}${}", cost.log2_n, cost.r, cost.p, salt, hash);
}

}  // namespace

std::string make_secret() {
  return "kedge_" + make_random_hex(32);
}

std::string make_id() {
  return make_random_hex(8);
}

std::string scrypt(std::string_view password, std::string_view salt, ScryptCost cost,
                   std::size_t bytes) {
  std::string key(bytes, '\0');
  constexpr std::uint64_t kMaxMemory = 256ULL << 20U;
  const int done = ::EVP_PBE_scrypt(
      password.data(), password.size(), reinterpret_cast<const unsigned char*>(salt.data()),
      salt.size(), 1ULL << static_cast<unsigned>(cost.log2_n), static_cast<std::uint64_t>(cost.r),
      static_cast<std::uint64_t>(cost.p), kMaxMemory, reinterpret_cast<unsigned char*>(key.data()),
      key.size());
  KEDGE_CHECK(done == 1, "scrypt cannot run with these costs");
  return key;
}

std::string hash_password(std::string_view password) {
  const ScryptCost cost;
  const std::string salt = make_random_hex(16);
  return render_hash(cost, salt, render_hex(scrypt(password, salt, cost, kHashBytes)));
}

std::string hash_of_no_password() {
  return render_hash({}, make_random_hex(16), std::string(2 * kHashBytes, '0'));
}

bool is_password(std::string_view password, std::string_view hashed) {
  const auto parts = split(hashed, '$');
  if (parts.size() != 6 || parts[0] != "scrypt") {
    return false;
  }
  const ScryptCost cost{to_int(parts[1]), to_int(parts[2]), to_int(parts[3])};
  const std::string hash = render_hex(scrypt(password, parts[4], cost, kHashBytes));
  return hash.size() == parts[5].size() &&
         ::CRYPTO_memcmp(hash.data(), parts[5].data(), hash.size()) == 0;
}

}  // namespace kedge::server
