#include "config/edit.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "config/load.h"

namespace kedge::config {
namespace {

using Leaves = std::map<std::string, std::string>;

void add_leaves(const YAML::Node& node, const std::string& path, Leaves& leaves) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "?";
      add_leaves(entry.second, path.empty() ? name : path + "." + name, leaves);
    }
  } else {
    leaves[path] = YAML::Dump(node);
  }
}

std::optional<YAML::Node> parse(const std::string& text) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception&) {
    return std::nullopt;
  }
}

Leaves leaves_of(const std::string& text) {
  Leaves leaves;
  if (const auto root = parse(text)) {
    add_leaves(*root, "", leaves);
  }
  return leaves;
}

struct Entry {
  YAML::Node key;
  YAML::Node value;
};

std::optional<Entry> find_entry(const YAML::Node& map, std::string_view name) {
  if (!map.IsMap()) {
    return std::nullopt;
  }
  for (const auto& entry : map) {
    if (entry.first.IsScalar() && entry.first.Scalar() == name) {
      return Entry{entry.first, entry.second};
    }
  }
  return std::nullopt;
}

std::size_t offset_of(const YAML::Node& node) {
  return static_cast<std::size_t>(std::max(node.Mark().pos, 0));
}

std::string insert(std::string text, std::size_t at, const std::string& what) {
  return text.insert(std::min(at, text.size()), what);
}

// One line below the one that `at` is in.
std::string insert_line_after(std::string text, std::size_t at, const std::string& line) {
  const std::size_t end = text.find('\n', at);
  if (end == std::string::npos) {
    return text + "\n" + line + "\n";
  }
  return insert(std::move(text), end + 1, line + "\n");
}

bool is_flow(const std::string& text, const YAML::Node& map) {
  const std::size_t at = offset_of(map);
  return at < text.size() && text[at] == '{';
}

std::string insert_into_flow(const std::string& text, const YAML::Node& map,
                             const std::string& entry) {
  return insert(text, offset_of(map) + 1, entry + (map.size() > 0 ? ", " : ""));
}

std::string replace_value(const std::string& text, const Entry& entry, const std::string& value) {
  if (entry.value.IsNull()) {
    const std::size_t colon = text.find(':', offset_of(entry.key));
    return colon == std::string::npos ? text : insert(text, colon + 1, " " + value);
  }
  const std::size_t at = offset_of(entry.value);
  if (at >= text.size()) {
    return text;
  }
  const bool is_quoted = text[at] == '"' || text[at] == '\'';
  const std::size_t size =
      is_quoted ? text.find(text[at], at + 1) + 1 - at : entry.value.Scalar().size();
  return std::string(text).replace(at, size, value);
}

std::string add_to_section(const std::string& text, const Entry& section, const std::string& line) {
  if (section.value.IsMap() && is_flow(text, section.value)) {
    return insert_into_flow(text, section.value, line);
  }
  const int column = section.value.IsMap() ? section.value.begin()->first.Mark().column
                                           : section.key.Mark().column + 2;
  return insert_line_after(text, offset_of(section.key),
                           std::string(static_cast<std::size_t>(column), ' ') + line);
}

std::string add_section(const std::string& text, const YAML::Node& root, std::string_view name,
                        const std::string& line) {
  if (root.IsMap() && is_flow(text, root)) {
    return insert_into_flow(text, root, fmt::format("{}: {{{}}}", name, line));
  }
  const bool is_ended = text.empty() || text.ends_with('\n');
  return fmt::format("{}{}{}:\n  {}\n", text, is_ended ? "" : "\n", name, line);
}

}  // namespace

Result<std::string> set_in_text(const std::string& text, std::string_view path,
                                const std::string& value) {
  const auto refuse = [&] {
    return fail(ErrorKind::Usage,
                fmt::format("{} cannot be changed in this file without changing more", path),
                fmt::format("set {}: {} by hand", path, value));
  };
  const auto root = parse(text);
  if (!root || !(root->IsMap() || root->IsNull())) {
    return refuse();
  }
  const std::string_view section_name = path.substr(0, path.find('.'));
  const std::string name(path.substr(path.find('.') + 1));
  const auto section = find_entry(*root, section_name);
  std::optional<Entry> found = section ? find_entry(section->value, name) : std::nullopt;
  std::string changed_path(path);
  const LoadedConfig known;
  const Field* field = known.find(path);
  KEDGE_CHECK(field != nullptr, "the path is a field's");
  for (const Alias& alias : field->aliases) {
    if (!found && (found = find_entry(*root, alias.name))) {
      changed_path = alias.name;
    }
  }
  const std::string line = fmt::format("{}: {}", name, value);
  const std::string changed = found     ? replace_value(text, *found, value)
                              : section ? add_to_section(text, *section, line)
                                        : add_section(text, *root, section_name, line);
  // Whatever a file may hold that was not thought of: the outcome is what counts.
  Leaves wanted = leaves_of(text);
  wanted.erase("");                         // an empty file is one leaf
  wanted.erase(std::string(section_name));  // and so is an empty section
  wanted[changed_path] = value;
  if (leaves_of(changed) != wanted) {
    return refuse();
  }
  return changed;
}

}  // namespace kedge::config
