// Addresses that need no password because nobody can guess them: where clients PUT and GET bytes.
// What an address stands for is written in it, signed with a key of the store and with an end, so
// that it outlives a restart of the server and needs no table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/store.h"

namespace kedge::wandb {

class Links {
 public:
  // Takes the key from the store, or makes one there.
  static Result<Links> open(store::Store& store);

  // A segment of a path: letters, digits, '-', '_' and '.'.
  std::string sign(const nlohmann::json& meaning, std::int64_t expires_us) const;
  // NotFound for anything that this store has not signed, and for what has come to its end.
  Result<nlohmann::json> parse(std::string_view token, std::int64_t now_us) const;

 private:
  explicit Links(std::string key) : key_(std::move(key)) {}

  std::string key_;
};

}  // namespace kedge::wandb
