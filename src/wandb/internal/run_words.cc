#include "wandb/internal/run_words.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "wandb/internal/history_row.h"

namespace kedge::wandb {
namespace {

using nlohmann::json;

// Patches cannot hold nulls: they are what is left out of the store's own config.
json without_nulls(const json& value) {
  if (!value.is_object()) {
    return value;
  }
  json clean = json::object();
  for (const auto& [name, item] : value.items()) {
    if (!item.is_null()) {
      clean[name] = without_nulls(item);
    }
  }
  return clean;
}

const json* find_inside(const json& wrapped) {
  const auto value = wrapped.is_object() ? wrapped.find("value") : wrapped.end();
  return wrapped.is_object() && value != wrapped.end() ? &*value : nullptr;
}

// The store writes such numbers as texts; on the wire they are numbers.
json to_number(const json& value) {
  if (value == "NaN") {
    return std::nan("");
  }
  if (value == "Infinity" || value == "-Infinity") {
    return value == "Infinity" ? INFINITY : -INFINITY;
  }
  return value;
}

bool is_same(const json& a, const json& b) {
  return a == b || (a.is_number_float() && b.is_number_float() && std::isnan(a.get<double>()) &&
                    std::isnan(b.get<double>()));
}

}  // namespace

std::string_view render_state(store::RunState state) {
  switch (state) {
    case store::RunState::Preempted:
      return "preempting";
    case store::RunState::Stopped:
      return "killed";
    default:
      return store::name_of(state);
  }
}

std::optional<store::RunState> parse_state(std::string_view word) {
  if (word == "killed") {
    return store::RunState::Stopped;
  }
  if (word == "preempting") {
    return store::RunState::Preempted;
  }
  return store::parse_run_state(word);
}

json unwrap_config(const json& wrapped) {
  json config = json::object();
  if (!wrapped.is_object()) {
    return config;
  }
  for (const auto& [name, value] : wrapped.items()) {
    if (name == "_wandb") {
      continue;
    }
    const json* inside = find_inside(value);
    config[name] = inside != nullptr ? *inside : value;
  }
  return config;
}

json wrap_config(const json& config, const json& said) {
  json wrapped = json::object();
  for (const auto& [name, value] : config.items()) {
    wrapped[name] = {{"value", value}};
  }
  if (!said.is_object()) {
    return wrapped;
  }
  for (const auto& [name, value] : said.items()) {
    const json* inside = find_inside(value);
    const auto now = config.find(name);
    const bool is_unchanged = inside == nullptr || inside->is_null() ||
                              (now != config.end() && without_nulls(*inside) == *now);
    if (name == "_wandb" || is_unchanged) {
      wrapped[name] = value;
    }
  }
  return wrapped;
}

json make_patch(const json& before, const json& after) {
  json patch = json::object();
  for (const auto& [name, value] : before.items()) {
    if (!after.contains(name)) {
      patch[name] = nullptr;
    }
  }
  for (const auto& [name, value] : after.items()) {
    const auto old = before.find(name);
    if (old == before.end()) {
      patch[name] = without_nulls(value);
    } else if (old->is_object() && value.is_object()) {
      if (json inner = make_patch(*old, value); !inner.empty()) {
        patch[name] = std::move(inner);
      }
    } else if (*old != value) {
      patch[name] = without_nulls(value);
    }
  }
  return patch;
}

json make_summary_patch(const store::Run& run, const json& said) {
  json patch = json::object();
  for (const auto& [key, value] : flatten(said)) {
    const bool is_plain = value->is_number() || value->is_string() || value->is_boolean();
    if (key.starts_with('_') || !is_plain) {
      continue;
    }
    const auto known = run.summary.find(key);
    const bool is_curve = known != run.summary.end() && known->contains("count");
    const json last = known == run.summary.end() ? json() : to_number(known->value("last", json()));
    if (is_same(last, *value) || (is_curve && last.is_number() && value->is_number() &&
                                  last.get<double>() == value->get<double>())) {
      continue;
    }
    patch[key] = *value;
  }
  return patch;
}

json render_summary(const store::Run& run) {
  json summary = json::object();
  for (const auto& [key, value] : run.summary.items()) {
    if (value.contains("last")) {
      summary[key] = to_number(value["last"]);
    }
  }
  if (run.facts.last_step) {
    summary["_step"] = *run.facts.last_step;
  }
  const std::int64_t end_us = run.facts.ended_us != 0 ? run.facts.ended_us : run.facts.heartbeat_us;
  if (end_us > run.facts.created_us) {
    summary["_runtime"] = static_cast<double>(end_us - run.facts.created_us) / 1e6;
    summary["_timestamp"] = static_cast<double>(end_us) / 1e6;
  }
  return summary;
}

}  // namespace kedge::wandb
