// The fields of a JSON object from outside: each is read once, with its type and range; one that
// nobody asked for is refused by name.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/chat/chat_template.h"
#include "use/serve/api_error.h"

namespace kedge::use {

class Fields {
 public:
  // `where` stands before the names in messages: "messages[0]."
  explicit Fields(const data::ChatJson& object, std::string where = "")
      : object_(object), where_(std::move(where)) {}

  std::string name_of(std::string_view field) const { return where_ + std::string(field); }

  // Null where it is not there, or null.
  const data::ChatJson* find(std::string_view field);

  Asked<std::int64_t> integer(std::string_view field, std::int64_t fallback, std::int64_t least,
                              std::int64_t most);
  Asked<double> number(std::string_view field, double fallback, double least, double most);
  Asked<bool> flag(std::string_view field, bool fallback);
  Asked<std::string> text(std::string_view field, std::string fallback);
  // A text, or a list of texts.
  Asked<std::vector<std::string>> texts(std::string_view field);
  // An object; {} where it is not there.
  Asked<data::ChatJson> object(std::string_view field);

  // It is known, changes nothing, and may have any value.
  void ignore(std::string_view field) { find(field); }

  // It may only have the value that changes nothing; `why` it may not have another.
  Asked<void> only(std::string_view field, const data::ChatJson& value, std::string_view why);

  Asked<void> refuse_others() const;

 private:
  const data::ChatJson& object_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace kedge::use
