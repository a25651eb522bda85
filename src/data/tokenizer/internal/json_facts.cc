#include "data/tokenizer/internal/json_facts.h"

#include "data/tokenizer/internal/pattern.h"

namespace kedge::data {

Result<std::string> expression_of(const nlohmann::json& json) {
  const auto pattern = json.find("pattern");
  if (pattern != json.end() && pattern->is_object() && pattern->size() == 1 &&
      pattern->front().is_string()) {
    const auto text = pattern->front().get<std::string>();
    if (pattern->contains("Regex")) {
      return text;
    }
    if (pattern->contains("String")) {
      return escape_pattern(text);
    }
  }
  return fail(ErrorKind::Corrupt, "a \"pattern\" without \"Regex\" or \"String\"");
}

}  // namespace kedge::data
