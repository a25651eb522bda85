#include "store/internal/key_table.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/internal/text.h"
#include "store/run.h"

namespace kedge::store {
namespace {

using nlohmann::json;

// A config that nests deeper is cut there: its deeper parts are values as JSON text.
constexpr int kMaxDepth = 16;

void flatten_into(const json& value, const std::string& prefix, int depth,
                  const std::function<void(const std::string&, const json&)>& visit) {
  if (!value.is_object() || depth == kMaxDepth) {
    visit(prefix, value);
    return;
  }
  for (const auto& [key, item] : value.items()) {
    flatten_into(item, prefix.empty() ? key : fmt::format("{}.{}", prefix, key), depth + 1, visit);
  }
}

template <typename Values>
void sort_by_key(Values& values) {
  const auto is_not_rising = [](const auto& a, const auto& b) { return a->key >= b->key; };
  if (std::ranges::adjacent_find(values, is_not_rising) == values.end()) {
    return;
  }
  std::ranges::stable_sort(values, {}, [](const auto& value) { return value->key; });
  // "a.b" and {"a": {"b": ...}} are one name: the last one counts.
  Values unique;
  for (auto& value : values) {
    if (!unique.empty() && unique.back()->key == value->key) {
      unique.back() = std::move(value);
    } else {
      unique.push_back(std::move(value));
    }
  }
  values = std::move(unique);
}

template <typename Values>
const KeyedValue* find_in(const Values& values, KeyId key) {
  const auto found =
      std::ranges::lower_bound(values, key, {}, [](const auto& value) { return value->key; });
  return found != values.end() && (*found)->key == key ? &**found : nullptr;
}

// Texts, lists and objects are views of `text`, which the caller keeps.
QueryValue make_value(const json& value, std::string_view text) {
  constexpr auto kMaxInt = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_null()) {
    return nullptr;
  }
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > kMaxInt) {
    return value.get<double>();
  }
  if (value.is_number_integer()) {
    return value.get<std::int64_t>();
  }
  if (value.is_number()) {
    return value.get<double>();
  }
  return text;
}

// The values own their texts.
SummaryValues flatten_owned(
    const json& value, KeyTable& keys,
    const std::function<QueryValue(const json& item, std::string_view text)>& make) {
  struct Owned {
    std::string text;
    KeyedValue value;
  };

  SummaryValues values;
  if (!value.is_object()) {
    return values;
  }
  values.reserve(value.size());
  for (const auto& [key, item] : value.items()) {
    auto owned = std::make_shared<Owned>();
    owned->text = item.is_string() ? item.get<std::string>() : render_json(item);
    owned->value = {keys.add(key), make(item, owned->text)};
    values.emplace_back(owned, &owned->value);
  }
  sort_by_key(values);
  return values;
}

}  // namespace

KeyId KeyTable::add(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(key);
  if (found != ids_.end()) {
    return found->second;
  }
  const auto id = static_cast<KeyId>(names_.size());
  names_.push_back(&ids_.emplace(std::string(key), id).first->first);
  return id;
}

std::optional<KeyId> KeyTable::find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(key);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const std::string& KeyTable::name(KeyId id) const {
  const std::lock_guard lock(mutex_);
  return *names_.at(id);
}

std::vector<std::string> KeyTable::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  names.reserve(names_.size());
  for (const std::string* name : names_) {
    names.push_back(*name);
  }
  return names;
}

const KeyedValue* ValuePool::add(KeyId key, const json& value) {
  // A number and the text of that number differ by the quotes of JSON.
  std::string text = render_json(value);
  const std::string name = fmt::format("{}:{}", key, text);
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(name);
  if (found != known_.end()) {
    return found->second;
  }
  if (value.is_string() || value.is_structured()) {
    texts_.push_back(value.is_string() ? value.get<std::string>() : std::move(text));
    values_.push_back({key, std::string_view(texts_.back())});
  } else {
    values_.push_back({key, make_value(value, "")});
  }
  known_.emplace(name, &values_.back());
  return &values_.back();
}

void sort_values(ConfigValues& values) {
  sort_by_key(values);
}

const KeyedValue* find_value(const ConfigValues& values, KeyId key) {
  return find_in(values, key);
}

const KeyedValue* find_value(const SummaryValues& values, KeyId key) {
  return find_in(values, key);
}

ConfigValues flatten_config(const json& value, KeyTable& keys, ValuePool& pool) {
  ConfigValues values;
  if (value.is_object()) {
    flatten_into(value, "", 0, [&](const std::string& key, const json& item) {
      values.push_back(pool.add(keys.add(key), item));
    });
  }
  sort_by_key(values);
  return values;
}

SummaryValues flatten_summary(const json& value, KeyTable& keys) {
  return flatten_owned(value, keys, [](const json& item, std::string_view text) {
    const auto number = item.is_string() ? parse_nonfinite(text) : std::nullopt;
    return number ? QueryValue(*number) : make_value(item, text);
  });
}

SummaryValues flatten_labels(const json& value, KeyTable& keys) {
  return flatten_owned(value, keys,
                       [](const json&, std::string_view text) { return QueryValue(text); });
}

json render_value(const QueryValue& value) {
  return std::visit(
      [](const auto& item) -> json {
        using T = std::decay_t<decltype(item)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, double>) {
          return render_number(item);
        } else {
          return item;
        }
      },
      value);
}

}  // namespace kedge::store
