// The values of a config straight from its JSON text. A store that starts reads the configs of all
// its runs, which are alike: a name with its value is parsed once and then found by its text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/result.h"
#include "store/internal/backends.h"
#include "store/internal/key_table.h"

namespace kedge::store {

class ConfigTextReader {
 public:
  ConfigTextReader(KeyTable& keys, ValuePool& pool) : keys_(keys), pool_(pool) {}

  // The same as flatten_config() of the document, which wrote it: its names are in order. Corrupt
  // when it is no JSON.
  Result<ConfigValues> read(std::string_view text);

 private:
  // False: something that a whole parser should look at.
  bool read_object(std::string_view text, std::size_t& at, int depth);
  bool read_member(std::string_view text, std::size_t& at, int depth);
  const KeyedValue* find_or_parse(std::string_view key, std::string_view value);

  KeyTable& keys_;
  ValuePool& pool_;
  std::unordered_map<std::string, const KeyedValue*, TextHash, std::equal_to<>> known_;
  ConfigValues values_;
  std::string path_;  // of the object being read: "optimizer."
  std::string name_;  // of the value being looked for
};

}  // namespace kedge::store
