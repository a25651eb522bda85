#include "config/load.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include "config/aliases.h"
#include "config/validate.h"
#include "config/value.h"
#include "core/hash.h"
#include "core/nearest.h"

namespace kedge::config {
namespace {

constexpr std::string_view kVariablePrefix = "KEDGE__";

// The first line that is indented with a tab, from 1; 0: none is.
int find_tab(const std::string& text) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line.find('\t') < first) {
      return number;
    }
  }
  return 0;
}

Result<YAML::Node> parse_yaml(const std::string& text, const std::string& where) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    if (const int tab = find_tab(text); tab > 0) {
      return fail(ErrorKind::Usage,
                  fmt::format("{}:{}: the line begins with a tab; YAML is indented with spaces",
                              where, tab));
    }
    return fail(ErrorKind::Usage,
                error.mark.is_null()
                    ? fmt::format("{}: not YAML: {}", where, error.msg)
                    : fmt::format("{}:{}: not YAML: {}", where, error.mark.line + 1, error.msg));
  }
}

// Puts layers into a config and collects every mistake on the way.
class Loader {
 public:
  explicit Loader(LoadedConfig& config) : config_(config) {
    std::set<std::string> names;
    for (const Field& field : config_.fields()) {
      names.insert(field.path);
      names.insert(field.path.substr(0, field.path.find('.')));
      for (const Alias& alias : field.aliases) {
        names.emplace(alias.name);
      }
    }
    for (const NotedKey& key : noted_keys()) {
      names.emplace(key.name);
    }
    names_.assign(names.begin(), names.end());
  }

  // Where all values that are added from now on come from.
  void set_layer(Layer layer) { layer_ = layer; }

  // A file that gives most of all keys is no one's handwriting, but the effective config of a run,
  // or a copy of it.
  void find_recorded() {
    auto& fields = config_.fields();
    if (std::ranges::count(fields, Layer::File, &Field::layer) * 2 > std::ssize(fields)) {
      std::ranges::for_each(fields, [](Field& field) {
        field.layer = field.layer == Layer::File ? Layer::Implied : field.layer;
      });
    }
  }

  // A map node of a file (`where` is its name and lines count) or of sweep values (no lines).
  void add_map(const YAML::Node& map, const std::string& prefix, const std::string& where,
               bool with_lines) {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string place =
          with_lines ? fmt::format("{}:{}", where, entry.first.Mark().line + 1) : where;
      if (!entry.first.IsScalar()) {
        problem(place, "a key must be a word");
        continue;
      }
      const std::string path =
          prefix.empty() ? entry.first.Scalar() : prefix + "." + entry.first.Scalar();
      if (!seen.insert(path).second) {
        problem(place, fmt::format("'{}' is given twice", path));
        continue;
      }
      if (path == "sweep" && entry.second.IsMap()) {
        continue;  // what `kedge sweep` reads: which other values to try
      }
      if (entry.second.IsMap() && is_section(path)) {
        add_map(entry.second, path, where, with_lines);
      } else if (!(entry.second.IsNull() && is_section(path))) {
        add_value(path, entry.second, place);
      }
    }
  }

  void add_value(const std::string& path, const YAML::Node& node, const std::string& place) {
    if (Field* field = find(path)) {
      set(*field, node, place);
    } else if (add_flat_key(path, node, place)) {
      alias_place_ = alias_place_.empty() ? fmt::format("{} ({})", path, place) : alias_place_;
    } else if (is_section(path)) {
      section_with_value(path, node, place);
    } else {
      unknown(path, place);
    }
  }

  // "key=value" and "--key=value".
  void add_override(const std::string& text) {
    const std::size_t start = text.starts_with("--") ? 2 : 0;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == start) {
      problem("command line", fmt::format("'{}' is not key=value", text));
      return;
    }
    add_text(text.substr(start, equals - start), text.substr(equals + 1), "command line");
  }

  void add_text(const std::string& path, const std::string& value, const std::string& place) {
    auto node = parse_yaml(value, place);
    // A text that is no YAML ("[a", "a: b: c") is still a text.
    add_value(path, node && !value.empty() ? *node : YAML::Node(value), place);
  }

  void add_variable(const std::string& name, const std::string& value) {
    std::string path;
    for (std::size_t i = kVariablePrefix.size(); i < name.size(); ++i) {
      if (name.compare(i, 2, "__") == 0) {
        path += '.';
        ++i;
      } else {
        path += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
      }
    }
    add_text(path, value, "$" + name);
  }

  // Called between the file and the layers above it: a flat key on the command line changes one
  // value, not the way everything is trained.
  void add_implied() {
    if (alias_place_.empty()) {
      return;
    }
    set_layer(Layer::Implied);
    for (const Implied& implied : implied_by_aliases()) {
      Field* field = find(implied.path);
      KEDGE_CHECK(field != nullptr, "an implied value names a field");
      if (field->origin == "default") {
        set(*field, YAML::Load(std::string(implied.value)), "implied by " + alias_place_);
      }
    }
  }

  // Called after all layers: of two keys that mean the same, the one that was set says both. A
  // recorded config keeps what it says of each.
  void join_same() {
    for (Field& field : config_.fields()) {
      Field* other = find(field.same_as.path);
      if (other == nullptr || value_as_yaml(field) == value_as_yaml(*other)) {
        continue;
      }
      if (is_written(field) && is_written(*other)) {
        problem(field.origin, fmt::format("{} is {}, but {} is {} ({}): both mean the same",
                                          field.path, value_as_yaml(field), other->path,
                                          value_as_yaml(*other), other->origin));
      } else if (field.layer != other->layer) {
        const bool is_later = field.layer > other->layer;
        follow(is_later ? *other : field, is_later ? field : *other);
      }
    }
  }

  Result<void> result() const {
    if (problems_.empty()) {
      return {};
    }
    return fail(ErrorKind::Usage, fmt::format("{}", fmt::join(problems_, "\n")),
                "`kedge config reference` explains every key");
  }

 private:
  Field* find(std::string_view path) {
    const auto found = std::ranges::find(config_.fields(), path, &Field::path);
    return found == config_.fields().end() ? nullptr : &*found;
  }

  bool is_section(const std::string& path) const {
    return std::ranges::any_of(config_.fields(), [prefix = path + "."](const Field& field) {
      return field.path.starts_with(prefix);
    });
  }

  void set(Field& field, const YAML::Node& node, const std::string& place) {
    const std::string before = value_as_yaml(field);
    if (auto done = set_value(field, translated(field, node)); !done) {
      const std::string& hint = done.error().hint;
      problem(place, fmt::format("{}: {}{}", field.path, done.error().message,
                                 hint.empty() ? "" : "; " + hint));
      return;
    }
    // Agents may repeat a trial's values on the command line; they remain the sweep's.
    if (field.layer != Layer::Sweep || value_as_yaml(field) != before) {
      field.origin = place;
      field.layer = layer_;
    }
  }

  void follow(Field& field, const Field& given) {
    set(field, YAML::Load(value_as_yaml(given)), "as " + given.path);
    field.layer = Layer::Default;
  }

  static YAML::Node translated(const Field& field, const YAML::Node& node) {
    if (node.IsScalar()) {
      const auto found = std::ranges::find(field.words, node.Scalar(), &Means::word);
      return found == field.words.end() ? node : YAML::Node(std::string(found->value));
    }
    return node;
  }

  // False where workshop files have no such key.
  bool add_flat_key(const std::string& name, const YAML::Node& node, const std::string& place) {
    for (Field& field : config_.fields()) {
      if (std::ranges::find(field.aliases, name, &Alias::name) != field.aliases.end()) {
        set(field, node, place);
        return true;
      }
    }
    const auto noted = std::ranges::find(noted_keys(), name, &NotedKey::name);
    if (noted == noted_keys().end()) {
      return false;
    }
    if (!node.IsScalar() || node.Scalar() != "false") {
      config_.notes.push_back(fmt::format("{}: {}: {}", place, name, noted->note));
    }
    return true;
  }

  // `schedule: cosine` is probably schedule.name.
  void section_with_value(const std::string& path, const YAML::Node& node,
                          const std::string& place) {
    const std::string name = path + ".name";
    const bool is_name = node.IsScalar() && find(name) != nullptr;
    problem(place, fmt::format("'{}' is a section, with keys below it{}", path,
                               is_name ? fmt::format("; did you mean '{}'?", name) : ""));
  }

  void unknown(const std::string& path, const std::string& place) {
    std::string near = nearest_name(path, names_);
    if (near.empty()) {
      // The last word alone often says what was meant: `train.lr` is optimizer.lr.
      const std::string last = path.substr(path.rfind('.') + 1);
      const auto same = std::ranges::find_if(
          names_, [&](const std::string& name) { return name.ends_with("." + last); });
      near = same == names_.end() ? nearest_name(last, names_) : *same;
    }
    problem(place, fmt::format("unknown key '{}'{}", path,
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  }

  void problem(const std::string& place, const std::string& what) {
    problems_.push_back(place + ": " + what);
  }

  LoadedConfig& config_;
  std::vector<std::string> names_;
  std::vector<std::string> problems_;
  Layer layer_ = Layer::File;
  std::string alias_place_;  // the first flat key, which brings in what the scripts imply
};

Result<void> add_document(Loader& loader, const std::string& text, const std::string& where) {
  const YAML::Node root = KEDGE_TRY(parse_yaml(text, where));
  if (root.IsNull()) {
    return {};
  }
  if (!root.IsMap()) {
    return fail(ErrorKind::Usage, fmt::format("{}: a config is a map of keys", where));
  }
  loader.add_map(root, "", where, true);
  return {};
}

Result<void> add_sweep_values(Loader& loader, const std::string& given) {
  if (given.empty()) {
    return {};
  }
  const auto text = given.starts_with("@") ? read_file(given.substr(1)) : given;
  if (!text) {
    return fail(ErrorKind::Usage, "sweep values: " + text.error().message,
                "KEDGE_SWEEP_VALUES is a map of keys to values, or @ and a file with one");
  }
  const YAML::Node root = KEDGE_TRY(parse_yaml(*text, "sweep values"));
  if (!root.IsMap()) {
    return fail(ErrorKind::Usage, "sweep values: not a map of keys to values");
  }
  loader.add_map(root, "", "sweep", false);
  return {};
}

}  // namespace

LoadedConfig::LoadedConfig() : config_(std::make_unique<Config>()) {
  Section root("", fields_);
  config_->describe(root);
}

const Field* LoadedConfig::find(std::string_view path) const {
  const auto found = std::ranges::find(fields_, path, &Field::path);
  return found == fields_.end() ? nullptr : &*found;
}

std::string LoadedConfig::hash() const {
  const LoadedConfig defaults;
  Digest digest;
  for (const Field& field : fields_) {
    const std::string value = value_as_yaml(field);
    if (field.in_hash == InHash::Always || (field.in_hash == InHash::UnlessDefault &&
                                            value != value_as_yaml(*defaults.find(field.path)))) {
      digest.add(field.path + ": " + value + "\n");
    }
  }
  return digest.text();
}

Result<LoadedConfig> load_config(const LoadOptions& options) {
  LoadedConfig config;
  Loader loader(config);
  if (!options.file.empty()) {
    config.file = options.file;
    config.file_text = KEDGE_TRY(read_file(options.file));
    KEDGE_TRY(add_document(loader, config.file_text, options.file.string()));
  } else if (!options.text.empty()) {
    loader.set_layer(Layer::Implied);
    KEDGE_TRY(add_document(loader, options.text, "saved config"));
  }
  loader.find_recorded();
  loader.add_implied();
  loader.set_layer(Layer::Environment);
  for (const auto& [name, value] : options.environment) {
    loader.add_variable(name, value);
  }
  loader.set_layer(Layer::Sweep);
  KEDGE_TRY(add_sweep_values(loader, options.sweep_values));
  loader.set_layer(Layer::CommandLine);
  for (const std::string& text : options.overrides) {
    loader.add_override(text);
  }
  loader.join_same();
  KEDGE_TRY(loader.result());
  const bool says_nothing = std::ranges::all_of(
      config.fields(), [](const Field& field) { return field.layer == Layer::Default; });
  if (!options.file.empty() && says_nothing) {
    return fail(ErrorKind::Usage,
                fmt::format("{} gives no value of a config", options.file.string()),
                "a config names its data and model at least; `kedge init` makes one that runs");
  }
  KEDGE_TRY(validate(config));
  return config;
}

Result<Path> find_config_file(const std::string& given) {
  const char* variable = std::getenv("KEDGE_CONFIG");
  const std::string from = !given.empty() ? given : variable != nullptr ? variable : "";
  Path path = from.empty() ? Path("config.yaml") : Path(from);
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (!is_folder && ::access(path.c_str(), R_OK) == 0) {
    return path;
  }
  if (from.empty()) {
    return fail(ErrorKind::Usage, "no config file: config.yaml is not in this folder",
                "name one (kedge train my.yaml), set KEDGE_CONFIG, or make one with `kedge init`");
  }
  return fail(ErrorKind::Usage,
              fmt::format("cannot read config file '{}'{}: {}", from,
                          given.empty() ? " (of KEDGE_CONFIG)" : "",
                          is_folder ? "it is a folder" : std::strerror(errno)),
              "check the path; `kedge init` makes a folder with a config that runs");
}

void read_environment(LoadOptions& options) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (text.starts_with(kVariablePrefix) && equals != std::string_view::npos) {
      options.environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }
  // Inside `kedge run`, which also says the folder, the id is that of the run around this program.
  const bool is_wrapped = std::getenv("KEDGE_RUN_DIR") != nullptr;
  if (const char* run = std::getenv("KEDGE_RUN_ID"); run != nullptr && !is_wrapped) {
    options.environment.try_emplace("KEDGE__RUN__ID", run);
  }
  if (const char* values = std::getenv("KEDGE_SWEEP_VALUES")) {
    options.sweep_values = values;
  }
}

}  // namespace kedge::config
