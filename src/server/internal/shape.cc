#include "server/internal/shape.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/nearest.h"
#include "core/result.h"

namespace kedge::server {
namespace {

constexpr std::string_view kRefersTo = "#/components/schemas/";

class ShapeReader {
 public:
  ShapeReader(std::string_view text, const Schema& named) : text_(text), named_(named) {}

  Schema read() {
    Schema schema = read_union();
    skip();
    expect(at_ == text_.size(), "an end");
    return schema;
  }

 private:
  void expect(bool is_there, std::string_view what) const {
    KEDGE_CHECK(is_there, fmt::format("no {} at {} of the shape {}", what, at_, text_).c_str());
  }

  void skip() {
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with("//")) {
        const auto end = std::min(text_.find('\n', at_), text_.size());
        comment_ += comment_.empty() ? "" : " ";
        comment_ += text_.substr(at_ + 3, end - at_ - 3);
        at_ = end;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else {
        break;
      }
    }
  }

  bool take(std::string_view token) {
    skip();
    const bool is_next = text_.substr(at_).starts_with(token);
    at_ += is_next ? token.size() : 0;
    return is_next;
  }

  // All up to one of `ends`.
  std::string_view take_until(std::string_view ends) {
    skip();
    const auto end = text_.find_first_of(ends, at_);
    expect(end != std::string_view::npos && end > at_, "word");
    const std::string_view taken = text_.substr(at_, end - at_);
    at_ = end;
    return taken;
  }

  std::string_view take_word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    expect(at_ > begin, "word");
    return text_.substr(begin, at_ - begin);
  }

  Schema read_union() {
    std::vector<Schema> choices;
    Schema texts = Schema::array();
    do {
      if (take("'")) {
        texts.push_back(take_until("'"));
        take("'");
      } else {
        choices.push_back(read_part());
      }
    } while (take("|"));
    if (!texts.empty()) {
      choices.insert(choices.begin(), Schema{{"type", "string"}, {"enum", std::move(texts)}});
    }
    return choices.size() == 1 ? choices.front() : Schema{{"anyOf", choices}};
  }

  Schema read_part() {
    Schema part = read_one();
    while (take("&")) {
      const Schema more = read_one();
      if (part.contains("$ref")) {
        part = named_.at(part["$ref"].get<std::string>().substr(kRefersTo.size()));
      }
      part["properties"].update(more.at("properties"));
      for (const Schema& name : more.value("required", Schema::array())) {
        part["required"].push_back(name);
      }
    }
    while (take("[]")) {
      part = Schema{{"type", "array"}, {"items", std::move(part)}};
    }
    return part;
  }

  Schema read_one() {
    if (take("{")) {
      return read_object();
    }
    if (take("(")) {
      Schema inner = read_union();
      expect(take(")"), ")");
      return inner;
    }
    const std::string word(take_word());
    Schema schema = schema_of(word);
    if (take("(")) {
      const bool is_text = word == "string";
      set_limit(schema, is_text ? "minLength" : "minimum", take_until("."));
      take("..");
      if (!take(")")) {
        set_limit(schema, is_text ? "maxLength" : "maximum", take_until(")"));
        take(")");
      }
    }
    return schema;
  }

  static Schema schema_of(const std::string& word) {
    if (word == "any") {
      return Schema::object();
    }
    if (word == "time") {
      return {{"type", "integer"}, {"description", "Unix time in microseconds; 0: not known"}};
    }
    if (word == "file") {
      return {{"type", "string"}, {"format", "binary"}};
    }
    return std::isupper(static_cast<unsigned char>(word.front())) != 0
               ? Schema{{"$ref", std::string(kRefersTo) + word}}
               : Schema{{"type", word}};
  }

  static void set_limit(Schema& schema, const char* name, std::string_view text) {
    schema[name] = Schema::parse(text);
  }

  Schema read_object() {
    Schema object = {{"type", "object"}, {"properties", Schema::object()}};
    object["additionalProperties"] = false;
    Schema required = Schema::array();
    while (!take("}")) {
      comment_.clear();
      const std::string name = take("*") ? "*" : std::string(take_word());
      const bool is_optional = take("?");
      expect(take(":"), ":");
      Schema field = read_union();
      if (take("=")) {
        field["default"] = Schema::parse(take_until(", }\n"));
      }
      take(",");
      skip();
      if (!comment_.empty()) {
        field["description"] = std::exchange(comment_, {});
      }
      if (name == "*") {
        object["additionalProperties"] = std::move(field);
        continue;
      }
      object["properties"][name] = std::move(field);
      if (!is_optional) {
        required.push_back(name);
      }
    }
    if (!required.empty()) {
      object["required"] = std::move(required);
    }
    return object;
  }

  std::string_view text_;
  const Schema& named_;
  std::size_t at_ = 0;
  std::string comment_;
};

// Where a value stands in what was sent; made a text only for an error.
struct Place {
  const Place* outer = nullptr;
  std::string_view name = {};
  std::size_t index = 0;

  std::string text() const {
    if (outer == nullptr) {
      return "";
    }
    const std::string before = outer->text();
    if (name.empty()) {
      return fmt::format("{}[{}]", before, index);
    }
    return before.empty() ? std::string(name) : fmt::format("{}.{}", before, name);
  }
};

std::string words_for(const Schema& schema) {
  if (schema.contains("anyOf")) {
    std::vector<std::string> words;
    for (const Schema& choice : schema["anyOf"]) {
      words.push_back(words_for(choice));
    }
    return fmt::format("{}", fmt::join(words, " or "));
  }
  if (schema.contains("enum")) {
    return fmt::format("{}", fmt::join(schema["enum"].get<std::vector<std::string>>(), ", "));
  }
  const std::string type = schema.value("type", "any");
  return type == "string"    ? "a text"
         : type == "integer" ? "a whole number"
         : type == "number"  ? "a number"
         : type == "boolean" ? "true or false"
         : type == "array"   ? "a list"
         : type == "object"  ? "an object"
                             : type;
}

bool has_type(const nlohmann::json& value, std::string_view type) {
  return type == "string"    ? value.is_string()
         : type == "integer" ? value.is_number_integer()
         : type == "number"  ? value.is_number()
         : type == "boolean" ? value.is_boolean()
         : type == "array"   ? value.is_array()
         : type == "object"  ? value.is_object()
                             : value.is_null();
}

class ShapeChecker {
 public:
  explicit ShapeChecker(const Shapes& shapes) : shapes_(shapes) {}

  Result<void> check(const Schema& asked, nlohmann::json& value, const Place& place) const {
    const Schema& schema = shapes_.resolve(asked);
    if (schema.contains("anyOf")) {
      return check_any(schema, value, place);
    }
    const auto type = schema.find("type");
    if (type != schema.end() && !has_type(value, type->get_ref<const std::string&>())) {
      return wrong(schema, value, place);
    }
    if (schema.contains("enum") &&
        std::ranges::find(schema["enum"], Schema(value)) == schema["enum"].end()) {
      return wrong(schema, value, place);
    }
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        KEDGE_TRY(check(schema["items"], value[i], {.outer = &place, .index = i}));
      }
    }
    if (value.is_object() && schema.contains("properties")) {
      KEDGE_TRY(check_fields(schema, value, place));
    }
    return check_limits(schema, value, place);
  }

 private:
  static std::unexpected<Error> wrong(const Schema& schema, const nlohmann::json& value,
                                      const Place& place) {
    const std::string where = place.text();
    const std::string what =
        value.is_string() && schema.contains("enum")
            ? fmt::format("'{}'", value.get_ref<const std::string&>().substr(0, 40))
            : std::string(value.type_name());
    return fail(ErrorKind::Usage,
                fmt::format("{} must be {}, not {}",
                            where.empty() ? "the body" : fmt::format("'{}'", where),
                            words_for(schema), what));
  }

  Result<void> check_any(const Schema& schema, nlohmann::json& value, const Place& place) const {
    for (const Schema& choice : schema["anyOf"]) {
      if (check(choice, value, place)) {
        return {};
      }
    }
    return wrong(schema, value, place);
  }

  Result<void> check_fields(const Schema& schema, nlohmann::json& value, const Place& place) const {
    const Schema& known = schema["properties"];
    const Schema& others = schema["additionalProperties"];
    for (auto field = value.begin(); field != value.end();) {
      const auto found = known.find(field.key());
      if (found == known.end() && others.is_boolean()) {
        std::vector<std::string> names;
        for (const auto& [name, unused] : known.items()) {
          names.push_back(name);
        }
        return std::unexpected(unknown_name("field", field.key(), names));
      }
      const Schema& wanted = found == known.end() ? others : *found;
      const Place inner{.outer = &place, .name = field.key()};
      if (auto checked = check(wanted, field.value(), inner); checked) {
        ++field;
      } else if (field.value().is_null() && found != known.end()) {
        field = value.erase(field);
      } else {
        return checked;
      }
    }
    for (const Schema& name : schema.value("required", Schema::array())) {
      if (const Place inner{.outer = &place, .name = name.get_ref<const std::string&>()};
          !value.contains(inner.name)) {
        return fail(ErrorKind::Usage, fmt::format("'{}' is needed", inner.text()));
      }
    }
    for (const auto& [name, field] : known.items()) {
      if (field.contains("default") && !value.contains(name)) {
        value[name] = nlohmann::json(field["default"]);
      }
    }
    return {};
  }

  static Result<void> check_limits(const Schema& schema, const nlohmann::json& value,
                                   const Place& place) {
    const bool is_text = value.is_string();
    if (!is_text && !value.is_number()) {
      return {};
    }
    const char* const low_name = is_text ? "minLength" : "minimum";
    const char* const high_name = is_text ? "maxLength" : "maximum";
    const auto low = schema.find(low_name);
    const auto high = schema.find(high_name);
    const double number = is_text ? static_cast<double>(value.get_ref<const std::string&>().size())
                                  : value.get<double>();
    if ((low == schema.end() || number >= low->get<double>()) &&
        (high == schema.end() || number <= high->get<double>())) {
      return {};
    }
    const std::string limits =
        high == schema.end()
            ? fmt::format("{} or more", low->get<std::int64_t>())
            : fmt::format("{} to {}", low->get<std::int64_t>(), high->get<std::int64_t>());
    return fail(ErrorKind::Usage,
                is_text
                    ? fmt::format("'{}' must have {} characters", place.text(), limits)
                    : fmt::format("'{}' must be {}, not {}", place.text(), limits, value.dump()));
  }

  const Shapes& shapes_;
};

}  // namespace

void Shapes::name(std::string_view name, std::string_view shape) {
  named_[std::string(name)] = parse(shape);
}

Schema Shapes::parse(std::string_view shape) const {
  return ShapeReader(shape, named_).read();
}

const Schema& Shapes::resolve(const Schema& schema) const {
  const auto to = schema.find("$ref");
  return to == schema.end()
             ? schema
             : resolve(named_.at(to->get_ref<const std::string&>().substr(kRefersTo.size())));
}

Result<void> Shapes::check(const Schema& schema, nlohmann::json& value) const {
  return ShapeChecker(*this).check(schema, value, {});
}

}  // namespace kedge::server
