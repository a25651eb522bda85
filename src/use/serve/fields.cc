#include "use/serve/fields.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/nearest.h"

namespace kedge::use {

using data::ChatJson;

const ChatJson* Fields::find(std::string_view field) {
  known_.emplace(field);
  const auto found = object_.find(std::string(field));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

Asked<std::int64_t> Fields::integer(std::string_view field, std::int64_t fallback,
                                    std::int64_t least, std::int64_t most) {
  const ChatJson* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  // Larger ones than int64 holds are read as unsigned.
  const bool is_whole = value->is_number_integer() &&
                        (!value->is_number_unsigned() ||
                         value->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (!is_whole || value->get<std::int64_t>() < least || value->get<std::int64_t>() > most) {
    return refuse_field(name_of(field), fmt::format("'{}' must be a whole number from {} to {}",
                                                    name_of(field), least, most));
  }
  return value->get<std::int64_t>();
}

Asked<double> Fields::number(std::string_view field, double fallback, double least, double most) {
  const ChatJson* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_number() || !(value->get<double>() >= least && value->get<double>() <= most)) {
    return refuse_field(name_of(field), fmt::format("'{}' must be a number from {} to {}",
                                                    name_of(field), least, most));
  }
  return value->get<double>();
}

Asked<bool> Fields::flag(std::string_view field, bool fallback) {
  const ChatJson* value = find(field);
  if (value != nullptr && !value->is_boolean()) {
    return refuse_field(name_of(field), fmt::format("'{}' must be true or false", name_of(field)));
  }
  return value == nullptr ? fallback : value->get<bool>();
}

Asked<std::string> Fields::text(std::string_view field, std::string fallback) {
  const ChatJson* value = find(field);
  if (value != nullptr && !value->is_string()) {
    return refuse_field(name_of(field), fmt::format("'{}' must be a text", name_of(field)));
  }
  return value == nullptr ? std::move(fallback) : value->get<std::string>();
}

Asked<std::vector<std::string>> Fields::texts(std::string_view field) {
  const ChatJson* value = find(field);
  std::vector<std::string> texts;
  if (value == nullptr) {
    return texts;
  }
  for (const ChatJson& one : value->is_array() ? *value : ChatJson::array({*value})) {
    if (!one.is_string()) {
      return refuse_field(name_of(field),
                          fmt::format("'{}' must be a text or a list of texts", name_of(field)));
    }
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

Asked<ChatJson> Fields::object(std::string_view field) {
  const ChatJson* value = find(field);
  if (value != nullptr && !value->is_object()) {
    return refuse_field(name_of(field), fmt::format("'{}' must be an object", name_of(field)));
  }
  return Asked<ChatJson>(std::in_place, value == nullptr ? ChatJson::object() : *value);
}

Asked<void> Fields::only(std::string_view field, const ChatJson& value, std::string_view why) {
  const ChatJson* given = find(field);
  if (given != nullptr && *given != value) {
    return refuse_field(name_of(field), fmt::format("'{}' may only be {} here: {}", name_of(field),
                                                    value.dump(), why));
  }
  return {};
}

Asked<void> Fields::refuse_others() const {
  for (const auto& [name, value] : object_.items()) {
    if (!value.is_null() && !known_.contains(name)) {
      const std::vector<std::string> known(known_.begin(), known_.end());
      const std::string nearest = nearest_name(name, known);
      return refuse_field(
          name_of(name),
          fmt::format("'{}' is not understood{}", name_of(name),
                      nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
    }
  }
  return {};
}

}  // namespace kedge::use
