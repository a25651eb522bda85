#include "store/internal/run_text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/result.h"
#include "store/internal/run_facts.h"
#include "store/json_text.h"

namespace kedge::store {
namespace {

void append_value(std::string& out, const QueryValue& value) {
  std::visit(
      [&](const auto& item) {
        using T = std::decay_t<decltype(item)>;
        if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, std::nullptr_t>) {
          out += "null";
        } else if constexpr (std::is_same_v<T, bool>) {
          out += item ? "true" : "false";
        } else {
          append_json(out, item);
        }
      },
      value);
}

// Writes members of one object after another.
class ObjectText {
 public:
  explicit ObjectText(std::string& out) : out_(out) { out_ += '{'; }

  ObjectText(const ObjectText&) = delete;
  ObjectText& operator=(const ObjectText&) = delete;

  ~ObjectText() { out_ += '}'; }

  std::string& name(std::string_view name) {
    out_ += is_first_ ? "" : ",";
    is_first_ = false;
    append_json(out_, name);
    out_ += ':';
    return out_;
  }

 private:
  std::string& out_;
  bool is_first_ = true;
};

void append_facts(ObjectText& object, const RunFacts& facts) {
  visit_facts(facts, [&](std::string_view name, const auto& value) {
    std::string& out = object.name(name);
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      out += '[';
      for (const std::string& text : value) {
        out += out.back() == '[' ? "" : ",";
        append_json(out, std::string_view(text));
      }
      out += ']';
    } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
      value ? append_json(out, *value) : void(out += "null");
    } else {
      append_json(out, value);
    }
  });
}

// What was set by hand goes before the curve's last value.
void append_summary(std::string& out, const KeyedSummary* metric, const KeyedValue* set) {
  ObjectText object(out);
  object.name("last");
  if (set != nullptr) {
    append_value(out, set->value);
  } else {
    append_json(out, metric->last);
  }
  if (metric != nullptr) {
    append_json(object.name("min"), metric->min);
    append_json(object.name("max"), metric->max);
    append_json(object.name("last_step"), metric->last_step);
    append_json(object.name("count"), static_cast<std::int64_t>(metric->count));
  }
}

void append_summaries(std::string& out, const RunEntry& entry, const KeyTable& keys) {
  ObjectText object(out);
  for (const KeyedSummary& metric : entry.metrics) {
    append_summary(object.name(keys.name(metric.key)), &metric,
                   find_value(entry.summary_values, metric.key));
  }
  for (const auto& value : entry.summary_values) {
    if (entry.find_metric(value->key) == nullptr) {
      append_summary(object.name(keys.name(value->key)), nullptr, value.get());
    }
  }
}

void append_labels(std::string& out, const RunEntry& entry, const KeyTable& keys) {
  ObjectText object(out);
  for (const auto& value : entry.label_values) {
    append_value(object.name(keys.name(value->key)), value->value);
  }
}

template <typename Values>
void append_chosen(std::string& out, const std::vector<std::pair<std::string, KeyId>>& chosen,
                   const Values& values) {
  ObjectText object(out);
  for (const auto& [name, key] : chosen) {
    if (const KeyedValue* value = find_value(values, key)) {
      append_value(object.name(name), value->value);
    }
  }
}

}  // namespace

Result<RunFields> find_fields(const std::vector<std::string>& names, const RunIndex& index) {
  RunFields fields;
  for (const std::string& text : names) {
    const FieldName name = KEDGE_TRY(parse_field_name(text));
    if (name.kind == FieldName::Kind::Config) {
      if (const auto key = index.find_config(name.key)) {
        fields.config.emplace_back(name.key, *key);
      }
    } else if (name.kind == FieldName::Kind::Summary) {
      if (const auto key = index.find_metric(name.key)) {
        fields.summary.emplace_back(name.key, *key);
      }
    } else if (name.kind == FieldName::Kind::Label) {
      if (const auto key = index.find_label(name.key)) {
        fields.labels.emplace_back(name.key, *key);
      }
    }
  }
  return fields;
}

void append_run(std::string& out, const RunEntry& entry, std::string_view config,
                const RunIndex& index) {
  ObjectText object(out);
  append_facts(object, entry.facts);
  object.name("config") += config;
  append_labels(object.name("labels"), entry, index.label_keys);
  append_summaries(object.name("summary"), entry, index.metric_keys);
}

void append_run(std::string& out, const RunEntry& entry, const RunFields& fields) {
  ObjectText object(out);
  append_facts(object, entry.facts);
  append_chosen(object.name("config"), fields.config, entry.config_values);
  append_chosen(object.name("labels"), fields.labels, entry.label_values);
  ObjectText summary(object.name("summary"));
  for (const auto& [name, key] : fields.summary) {
    const KeyedSummary* metric = entry.find_metric(key);
    const KeyedValue* set = find_value(entry.summary_values, key);
    if (metric != nullptr || set != nullptr) {
      append_summary(summary.name(name), metric, set);
    }
  }
}

}  // namespace kedge::store
