#include "mlflow/internal/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "server/api.h"

namespace kedge::mlflow {
namespace {

constexpr std::string_view kSeeDocs =
    "See the API docs for more information about request parameters.";

std::string camel_case(std::string_view name) {
  std::string camel;
  bool is_next_upper = false;
  for (const char c : name) {
    if (c == '_') {
      is_next_upper = true;
    } else {
      camel += is_next_upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      is_next_upper = false;
    }
  }
  return camel;
}

// As Python calls it, because the messages do.
std::string_view python_type(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::object:
      return "dict";
    case nlohmann::json::value_t::array:
      return "list";
    case nlohmann::json::value_t::string:
      return "str";
    case nlohmann::json::value_t::boolean:
      return "bool";
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
      return "int";
    case nlohmann::json::value_t::number_float:
      return "float";
    default:
      return "NoneType";
  }
}

std::string compact(const nlohmann::json& value) {
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Python writes these three without quotes, and JSON has no such words.
std::string quote_python_numbers(std::string_view text) {
  std::string quoted;
  bool is_in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_text) {
      quoted += c;
      if (c == '\\' && i + 1 < text.size()) {
        quoted += text[++i];
      }
      is_in_text = c != '"';
      continue;
    }
    is_in_text = c == '"';
    bool is_word = false;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (text.substr(i).starts_with(word)) {
        quoted += fmt::format("\"{}\"", word);
        i += word.size() - 1;
        is_word = true;
        break;
      }
    }
    if (!is_word) {
      quoted += c;
    }
  }
  return quoted;
}

nlohmann::json query_object(const http::Request& request) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : request.query) {
    object[name].push_back(value);
  }
  return object;
}

bool has_json_type(const http::Request& request) {
  const auto type = request.headers.find("content-type");
  return type && lower(type->substr(0, type->find(';'))) == "application/json";
}

std::optional<double> parse_number(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string word = lower(text);
  if (word == "nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (word == "infinity" || word == "inf") {
    return kInfinity;
  }
  if (word == "-infinity" || word == "-inf") {
    return -kInfinity;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> as_integer(const nlohmann::json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
               ? std::optional(static_cast<std::int64_t>(number))
               : std::nullopt;
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    const bool is_whole = std::abs(number) < 0x1p63 && std::trunc(number) == number;
    return is_whole ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
  }
  return value.is_string() ? parse_integer(value.get_ref<const std::string&>()) : std::nullopt;
}

}  // namespace

Fault missing(const std::string& path) {
  return {Code::InvalidParameterValue,
          fmt::format("Missing value for required parameter '{}'. {}", path, kSeeDocs)};
}

Fault wrong_type(const std::string& path, const nlohmann::json& value) {
  return wrong_value(
      path, value, fmt::format(" Hint: Value was of type '{}'. {}", python_type(value), kSeeDocs));
}

Fault wrong_value(const std::string& path, const nlohmann::json& value, std::string_view why) {
  return {
      Code::InvalidParameterValue,
      fmt::format("Invalid value {} for parameter '{}' supplied: {}", compact(value), path, why)};
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return is_whole ? std::optional(value) : std::nullopt;
}

Outcome<nlohmann::json> parse_body(std::string_view text) {
  auto parsed = server::parse_json(text);
  if (!parsed && text.find_first_of("NI") != std::string_view::npos) {
    if (auto again = server::parse_json(quote_python_numbers(text))) {
      return std::move(*again);
    }
  }
  if (!parsed) {
    return refuse(Code::BadRequest, parsed.error().message);
  }
  return std::move(*parsed);
}

Outcome<Fields> Fields::read(const http::Request& request) {
  if (request.method == http::Method::Get) {
    return Fields(query_object(request), true);
  }
  if (request.body.empty()) {
    // Some programs send what they mean in the query of a DELETE or a POST.
    return Fields(query_object(request), true);
  }
  if (!has_json_type(request)) {
    return refuse("Bad Request. Content-Type must be one of ['application/json'].");
  }
  nlohmann::json body = KEDGE_TRY(parse_body(request.body));
  if (body.is_string()) {
    body = KEDGE_TRY(parse_body(body.get_ref<const std::string&>()));
  }
  if (!body.is_object()) {
    return refuse(Code::BadRequest,
                  fmt::format("the body must be a JSON object, not a {}", python_type(body)));
  }
  return Fields(std::move(body));
}

// Of a query's names, which may be repeated, the first.
Outcome<const nlohmann::json*> Fields::find(std::string_view name) const {
  const nlohmann::json* found = KEDGE_TRY(find_whole(name));
  return is_query_ && found != nullptr ? &found->front() : found;
}

Outcome<const nlohmann::json*> Fields::find_whole(std::string_view name) const {
  const auto found = object_->find(name);
  auto other = object_->end();
  if (name.find('_') != std::string_view::npos) {
    const std::string camel = camel_case(name);
    other = object_->find(camel);
    if (found != object_->end() && other != object_->end()) {
      return refuse(fmt::format("Request specifies both '{}' and '{}'; provide only one of them.",
                                name, camel));
    }
  }
  const auto given = found != object_->end() ? found : other;
  return given == object_->end() || given->is_null() ? nullptr : &*given;
}

bool Fields::has(std::string_view name) const {
  const auto found = find(name);
  return found && *found != nullptr;
}

Outcome<std::optional<std::string>> Fields::find_text(std::string_view name) const {
  const nlohmann::json* value = KEDGE_TRY(find(name));
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    return std::unexpected(wrong_type(path_of(name), *value));
  }
  return value->get<std::string>();
}

Outcome<std::string> Fields::text(std::string_view name) const {
  return KEDGE_TRY(find_text(name)).value_or("");
}

Outcome<std::string> Fields::need_text(std::string_view name) const {
  auto found = KEDGE_TRY(find_text(name));
  if (!found || found->empty()) {
    return std::unexpected(missing(path_of(name)));
  }
  return std::move(*found);
}

Outcome<std::string> Fields::need_run_id() const {
  std::string id = KEDGE_TRY(text("run_id"));
  if (id.empty()) {
    id = KEDGE_TRY(text("run_uuid"));
  }
  if (id.empty()) {
    return std::unexpected(missing(path_of("run_id")));
  }
  return id;
}

Outcome<std::optional<std::int64_t>> Fields::find_integer(std::string_view name) const {
  const nlohmann::json* value = KEDGE_TRY(find(name));
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto number = as_integer(*value);
  if (!number) {
    return std::unexpected(wrong_type(path_of(name), *value));
  }
  return number;
}

Outcome<std::int64_t> Fields::need_integer(std::string_view name) const {
  const auto found = KEDGE_TRY(find_integer(name));
  if (!found) {
    return std::unexpected(missing(path_of(name)));
  }
  return *found;
}

Outcome<double> Fields::need_number(std::string_view name) const {
  const nlohmann::json* value = KEDGE_TRY(find(name));
  if (value == nullptr) {
    return std::unexpected(missing(path_of(name)));
  }
  if (value->is_number()) {
    return value->get<double>();
  }
  const auto number =
      value->is_string() ? parse_number(value->get_ref<const std::string&>()) : std::nullopt;
  if (!number) {
    return std::unexpected(wrong_type(path_of(name), *value));
  }
  return *number;
}

Outcome<bool> Fields::boolean(std::string_view name, bool fallback) const {
  const nlohmann::json* value = KEDGE_TRY(find(name));
  if (value == nullptr) {
    return fallback;
  }
  if (is_query_) {
    const std::string word = lower(value->get_ref<const std::string&>());
    if (word != "true" && word != "false") {
      return refuse(fmt::format("Invalid boolean value: {}, must be 'true' or 'false'.",
                                value->get_ref<const std::string&>()));
    }
    return word == "true";
  }
  if (!value->is_boolean()) {
    return std::unexpected(wrong_type(path_of(name), *value));
  }
  return value->get<bool>();
}

Outcome<int> Fields::enumerated(std::string_view name, std::span<const EnumName> names,
                                int fallback) const {
  const nlohmann::json* value = KEDGE_TRY(find(name));
  if (value == nullptr) {
    return fallback;
  }
  const auto number = as_integer(*value);
  for (const EnumName& entry : names) {
    const bool is_named = value->is_string() && value->get_ref<const std::string&>() == entry.name;
    if (is_named || number == entry.number) {
      return entry.number;
    }
  }
  return std::unexpected(wrong_type(path_of(name), *value));
}

Outcome<std::vector<std::string>> Fields::texts(std::string_view name) const {
  const nlohmann::json* value = KEDGE_TRY(find_whole(name));
  std::vector<std::string> list;
  if (value == nullptr) {
    return list;
  }
  if (!value->is_array()) {
    return std::unexpected(wrong_type(path_of(name), *value));
  }
  for (const nlohmann::json& entry : *value) {
    if (!entry.is_string()) {
      return std::unexpected(wrong_type(path_of(name), *value));
    }
    list.push_back(entry.get<std::string>());
  }
  return list;
}

Outcome<std::vector<Fields>> Fields::items(std::string_view name) const {
  const nlohmann::json* value = KEDGE_TRY(find_whole(name));
  std::vector<Fields> list;
  if (value == nullptr) {
    return list;
  }
  if (!value->is_array()) {
    return std::unexpected(wrong_type(path_of(name), *value));
  }
  list.reserve(value->size());
  for (const nlohmann::json& entry : *value) {
    const std::string path = fmt::format("{}[{}]", path_of(name), list.size());
    if (!entry.is_object()) {
      return std::unexpected(wrong_type(path, entry));
    }
    list.push_back(Fields(*this, entry, path + "."));
  }
  return list;
}

Outcome<std::optional<Fields>> Fields::find_object(std::string_view name) const {
  const nlohmann::json* value = KEDGE_TRY(find(name));
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_object()) {
    return std::unexpected(wrong_type(path_of(name), *value));
  }
  return Fields(*this, *value, path_of(name) + ".");
}

Outcome<KeyValues> Fields::key_values(std::string_view name) const {
  KeyValues pairs;
  for (const Fields& entry : KEDGE_TRY(items(name))) {
    std::string key = KEDGE_TRY(entry.need_text("key"));
    pairs.emplace_back(std::move(key), KEDGE_TRY(entry.text("value")));
  }
  return pairs;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small;
}

}  // namespace kedge::mlflow
