#include "data/chat/internal/jinja_value.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/utf8.h"

namespace kedge::data::jinja {
namespace {

Result<Value> of_json_at(const nlohmann::ordered_json& json, int depth) {
  if (depth > kMaxNesting) {
    return fail(ErrorKind::Usage, "values are nested deeper than 100");
  }
  switch (json.type()) {
    case nlohmann::ordered_json::value_t::boolean:
      return of_bool(json.get<bool>());
    case nlohmann::ordered_json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() > INT64_MAX) {
        return fail(ErrorKind::Usage, "the number " + json.dump() + " has more than 64 bits");
      }
      return of_int(json.get<std::int64_t>());
    case nlohmann::ordered_json::value_t::number_integer:
      return of_int(json.get<std::int64_t>());
    case nlohmann::ordered_json::value_t::number_float:
      return Value{json.get<double>()};
    case nlohmann::ordered_json::value_t::string:
      return of_text(as_utf8(json.get_ref<const std::string&>()));
    case nlohmann::ordered_json::value_t::array: {
      std::vector<Value> items;
      for (const auto& item : json) {
        items.push_back(KEDGE_TRY(of_json_at(item, depth + 1)));
      }
      return of_list(std::move(items));
    }
    case nlohmann::ordered_json::value_t::object: {
      auto dict = std::make_shared<Dict>();
      for (const auto& [key, value] : json.items()) {
        dict->entries.emplace_back(as_utf8(key), KEDGE_TRY(of_json_at(value, depth + 1)));
      }
      return Value{DictPtr(std::move(dict))};
    }
    default:
      return Value{None{}};
  }
}

bool are_equal_lists(const List& a, const List& b) {
  return a.is_tuple == b.is_tuple && std::ranges::equal(a.items, b.items, are_equal);
}

bool are_equal_dicts(const Dict& a, const Dict& b) {
  return a.entries.size() == b.entries.size() && std::ranges::all_of(a.entries, [&](auto& entry) {
           const Value* other = b.find(entry.first);
           return other != nullptr && are_equal(entry.second, *other);
         });
}

}  // namespace

const Value* Dict::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &std::pair<std::string, Value>::first);
  return found == entries.end() ? nullptr : &found->second;
}

void Dict::set(std::string_view key, Value value) {
  const auto found = std::ranges::find(entries, key, &std::pair<std::string, Value>::first);
  if (found == entries.end()) {
    entries.emplace_back(key, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

Value of_text(std::string text) {
  return {std::make_shared<const std::string>(std::move(text))};
}

Value of_list(std::vector<Value> items, bool is_tuple) {
  return {std::make_shared<const List>(List{std::move(items), is_tuple})};
}

Result<Value> of_json(const nlohmann::ordered_json& json) {
  return of_json_at(json, 0);
}

bool is_true(const Value& value) {
  if (const auto* flag = value.as<bool>()) {
    return *flag;
  }
  if (is_number(value)) {
    return number_of(value) != 0;
  }
  if (const auto* text = value.text()) {
    return !text->empty();
  }
  if (const auto* list = value.as<ListPtr>()) {
    return !(*list)->items.empty();
  }
  if (const auto* dict = value.as<DictPtr>()) {
    return !(*dict)->entries.empty();
  }
  return !value.is_undefined() && !value.is_none();
}

bool is_number(const Value& value) {
  return value.as<bool>() != nullptr || value.as<std::int64_t>() != nullptr ||
         value.as<double>() != nullptr;
}

double number_of(const Value& value) {
  if (const auto* flag = value.as<bool>()) {
    return *flag ? 1 : 0;
  }
  if (const auto* whole = value.as<std::int64_t>()) {
    return static_cast<double>(*whole);
  }
  const auto* real = value.as<double>();
  return real == nullptr ? 0 : *real;
}

bool are_equal(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) {
    return number_of(a) == number_of(b);
  }
  if (a.held.index() != b.held.index()) {
    return false;
  }
  if (const auto* text = a.text()) {
    return *text == *b.text();
  }
  if (const auto* list = a.as<ListPtr>()) {
    return *list == *b.as<ListPtr>() || are_equal_lists(**list, **b.as<ListPtr>());
  }
  if (const auto* dict = a.as<DictPtr>()) {
    return *dict == *b.as<DictPtr>() || are_equal_dicts(**dict, **b.as<DictPtr>());
  }
  if (const auto* space = a.as<NamespacePtr>()) {
    return *space == *b.as<NamespacePtr>();
  }
  return a.is_undefined() || a.is_none();
}

std::string_view type_name(const Value& value) {
  constexpr std::string_view kNames[] = {"undefined", "None", "bool",      "int",  "float",   "str",
                                         "list",      "dict", "namespace", "loop", "function"};
  return kNames[value.held.index()];
}

Result<std::vector<Value>> items_of(const Value& value) {
  std::vector<Value> items;
  if (const auto* list = value.as<ListPtr>()) {
    return (*list)->items;
  }
  if (const auto* dict = value.as<DictPtr>()) {
    for (const auto& [key, held] : (*dict)->entries) {
      items.push_back(of_text(key));
    }
    return items;
  }
  if (const auto* text = value.text()) {
    for (const std::string_view character : characters(*text)) {
      items.push_back(of_text(std::string(character)));
    }
    return items;
  }
  if (value.is_undefined()) {
    return items;
  }
  return fail(ErrorKind::Usage,
              "'" + std::string(type_name(value)) + "' is nothing that can be gone through");
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::string_view before = text;
    take_character(text);
    parts.push_back(before.substr(0, before.size() - text.size()));
  }
  return parts;
}

}  // namespace kedge::data::jinja
