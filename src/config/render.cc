#include "config/render.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/aliases.h"
#include "config/value.h"

namespace kedge::config {
namespace {

// Fields are at most one section deep: "seed", "optimizer.lr".
std::pair<std::string, std::string> split_path(const std::string& path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) {
    return {"", path};
  }
  return {path.substr(0, dot), path.substr(dot + 1)};
}

std::string render_fields(const LoadedConfig& config,
                          const std::function<std::string(const Field&, std::string)>& line) {
  std::string text;
  std::string open;
  for (const Field& field : config.fields()) {
    const auto [section, key] = split_path(field.path);
    if (section != open) {
      text += section + ":\n";
      open = section;
    }
    text += line(field,
                 fmt::format("{}{}: {}", section.empty() ? "" : "  ", key, value_as_yaml(field))) +
            "\n";
  }
  return text;
}

}  // namespace

std::string render_effective(const LoadedConfig& config) {
  return render_fields(config, [](const Field&, std::string line) { return line; });
}

std::string render_with_origins(const LoadedConfig& config) {
  return render_fields(config, [](const Field& field, std::string line) {
    return fmt::format("{:<44}  # {}", line, field.origin);
  });
}

nlohmann::json render_json(const LoadedConfig& config) {
  nlohmann::json all = nlohmann::json::object();
  for (const Field& field : config.fields()) {
    all[field.path] = {{"value", value_as_json(field)}, {"origin", field.origin}};
  }
  return all;
}

std::string render_reference() {
  const LoadedConfig defaults;
  std::string text =
      "# Config reference\n\nPrinted by `kedge config reference`. Every key, its type, its default "
      "and what it means. A key marked\n(fixed) cannot change when a run is resumed.\n";
  std::string open = "-";
  for (const Field& field : defaults.fields()) {
    const auto [section, key] = split_path(field.path);
    if (section != open) {
      text +=
          fmt::format("\n## {}\n\n| key | type | default | meaning |\n| --- | --- | --- | --- |\n",
                      section.empty() ? "(top level)" : section);
      open = section;
    }
    std::string type = describe_type(field);
    std::ranges::replace(type, '|', '/');
    text += fmt::format("| `{}` | {} | `{}` | {}{} |\n", field.path, type, value_as_yaml(field),
                        field.doc, field.fixed.why.empty() ? "" : " (fixed)");
  }
  text +=
      "\n## Flat keys of workshop files\n\nAccepted at the top level, with the same meaning. A "
      "file "
      "that uses one also gets what those\nscripts fix in their code, unless it says otherwise.\n\n"
      "| flat key | sets |\n| --- | --- |\n";
  for (const Field& field : defaults.fields()) {
    for (const Alias& alias : field.aliases) {
      text += fmt::format("| `{}` | `{}` |\n", alias.name, field.path);
    }
  }
  for (const NotedKey& key : noted_keys()) {
    text += fmt::format("| `{}` | {} |\n", key.name, key.note);
  }
  text += "\n| implied key | value |\n| --- | --- |\n";
  for (const Implied& implied : implied_by_aliases()) {
    text += fmt::format("| `{}` | `{}` |\n", implied.path, implied.value);
  }
  return text;
}

}  // namespace kedge::config
