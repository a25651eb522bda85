// Random secrets and hashed passwords.
#pragma once

#include <string>
#include <string_view>

namespace kedge::server {

// 256 bits from the kernel, as 64 hex digits after a prefix that scanners for leaked secrets know.
std::string make_secret();
std::string make_id();  // 16 hex digits

// "scrypt$15$8$1$salt$hash": the costs stand with the hash, so that they can rise later.
std::string hash_password(std::string_view password);
bool is_password(std::string_view password, std::string_view hashed);
// A hash at the same cost that no password has: what a user who does not exist is checked against.
std::string hash_of_no_password();

// scrypt itself (RFC 7914).
struct ScryptCost {
  int log2_n = 15;
  int r = 8;
  int p = 1;
};

std::string scrypt(std::string_view password, std::string_view salt, ScryptCost cost,
                   std::size_t bytes);

}  // namespace kedge::server
