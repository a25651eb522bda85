#include "cli/shared/arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include <fmt/format.h>

#include "core/nearest.h"

namespace kedge::cli {
namespace {

const Flag* find_flag(const VerbHelp& help, std::string_view name) {
  const auto found = std::ranges::find(help.flags, name, &Flag::name);
  return found == help.flags.end() ? nullptr : &*found;
}

bool takes_values(const VerbHelp& help) {
  return help.usage.contains("key=value");
}

// "--train.epochs", or a flat key of a workshop's file: the value follows as a word of its own.
bool is_key_option(std::string_view name) {
  if (!name.starts_with("--")) {
    return false;
  }
  name.remove_prefix(2);
  static const config::LoadedConfig defaults;
  return name.contains('.') ||
         std::ranges::any_of(defaults.fields(), [&](const config::Field& field) {
           return field.path == name ||
                  std::ranges::find(field.aliases, name, &config::Alias::name) !=
                      field.aliases.end();
         });
}

Error unknown_flag(const std::string& name, const VerbHelp& help) {
  std::vector<std::string> names = {"--help"};
  for (const Flag& flag : help.flags) {
    names.emplace_back(flag.name);
  }
  Error error = unknown_name("option", name, names);
  if (std::ranges::find(names, kConfigFlag.name) != names.end()) {
    error.hint += "; values of the config are given as key=value";
  }
  return error;
}

}  // namespace

Result<Arguments> Arguments::parse(std::span<const std::string> args, const VerbHelp& help) {
  Arguments parsed;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    const std::size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    if (arg == "--help" || arg == "-h") {
      parsed.flags_["--help"].emplace_back();
    } else if (const Flag* flag = find_flag(help, name); flag != nullptr) {
      const bool is_optional = flag->value.starts_with('[');
      const bool is_alone = i + 1 == args.size() || args[i + 1].starts_with('-');
      if (flag->value.empty() != (equals == std::string::npos) && flag->value.empty()) {
        return fail(ErrorKind::Usage, fmt::format("{} takes no value", name));
      }
      if (equals != std::string::npos) {
        parsed.flags_[name].push_back(arg.substr(equals + 1));
      } else if (flag->value.empty() || (is_optional && is_alone)) {
        parsed.flags_[name].emplace_back();
      } else if (i + 1 < args.size()) {
        parsed.flags_[name].push_back(args[++i]);
      } else {
        return fail(ErrorKind::Usage, fmt::format("{} needs a value ({})", name, flag->value));
      }
    } else if (equals != std::string::npos && takes_values(help)) {
      parsed.overrides_.push_back(arg);
    } else if (takes_values(help) && is_key_option(arg)) {
      if (i + 1 == args.size() || args[i + 1].starts_with("--")) {
        return fail(ErrorKind::Usage, fmt::format("{} needs a value", arg),
                    fmt::format("{} VALUE, or {}=VALUE", arg, arg.substr(2)));
      }
      parsed.overrides_.push_back(arg + "=" + args[++i]);
    } else if (arg.starts_with("-") && arg.size() > 1) {
      return std::unexpected(unknown_flag(name, help));
    } else if (equals != std::string::npos) {
      return fail(ErrorKind::Usage, fmt::format("unexpected word '{}'", arg),
                  fmt::format("usage: {}", help.usage));
    } else {
      parsed.positionals_.push_back(arg);
    }
  }
  return parsed;
}

std::string Arguments::value(std::string_view flag, std::string fallback) const {
  const auto found = flags_.find(std::string(flag));
  return found == flags_.end() ? std::move(fallback) : found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view flag) const {
  const auto found = flags_.find(std::string(flag));
  return found == flags_.end() ? std::vector<std::string>() : found->second;
}

Result<std::int64_t> Arguments::number(std::string_view flag, std::int64_t fallback,
                                       std::int64_t least) const {
  if (!has(flag)) {
    return fallback;
  }
  const std::string text = value(flag);
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || number < 0) {
    return fail(ErrorKind::Usage, fmt::format("{}: '{}' is not a whole number", flag, text));
  }
  if (number < least) {
    return fail(ErrorKind::Usage,
                fmt::format("{} is {}, but must be at least {}", flag, number, least));
  }
  return number;
}

std::string render_help(const VerbHelp& help) {
  std::string text = fmt::format("usage: {}\n\n{}\n", help.usage, help.text);
  if (!help.flags.empty()) {
    text += "\noptions:\n";
    for (const Flag& flag : help.flags) {
      const std::string left = fmt::format("{} {}", flag.name, flag.value);
      text += fmt::format("  {:<20} {}\n", left, flag.meaning);
    }
  }
  return text;
}

namespace {

HelpReader& help_reader() {
  static HelpReader reader;
  return reader;
}

}  // namespace

void read_help_with(HelpReader reader) {
  help_reader() = std::move(reader);
}

void show_help(const VerbHelp& help) {
  if (help_reader()) {
    help_reader()(help);
  } else {
    fmt::print("{}", render_help(help));
  }
}

bool asks_for_help(std::span<const std::string> args) {
  const auto end = std::ranges::find(args, "--");
  return std::any_of(args.begin(), end,
                     [](const std::string& arg) { return arg == "--help" || arg == "-h"; });
}

Result<std::optional<Arguments>> parse_or_help(std::span<const std::string> args,
                                               const VerbHelp& help) {
  Arguments arguments = KEDGE_TRY(Arguments::parse(args, help));
  if (arguments.has("--help")) {
    show_help(help);
    return std::nullopt;
  }
  return arguments;
}

int help_or_unknown(std::span<const std::string> args, const VerbHelp& help,
                    const std::vector<std::string>& words) {
  if (!args.empty() && (args.front() == "--help" || args.front() == "-h")) {
    VerbHelp whole = help;
    whole.words.assign(words.begin(), words.end());
    show_help(whole);
    return kExitDone;
  }
  if (args.empty()) {
    fmt::print(stderr, "{}", render_help(help));
    return kExitUsage;
  }
  if (std::ranges::find(words, args.front()) != words.end()) {
    return report({ErrorKind::Usage, fmt::format("unexpected word '{}'", args.back()),
                   fmt::format("usage: {}", help.usage)});
  }
  return report(unknown_name("word", args.front(), words));
}

Result<config::LoadedConfig> load_config_of(const Arguments& arguments) {
  if (arguments.positionals().size() > 1) {
    return fail(ErrorKind::Usage, fmt::format("unexpected word '{}'", arguments.positionals()[1]),
                "one config file; values are given as key=value");
  }
  const std::string given = arguments.positionals().empty() ? arguments.value("--config")
                                                            : arguments.positionals().front();
  config::LoadOptions options;
  options.file = KEDGE_TRY(config::find_config_file(given));
  config::read_environment(options);
  options.overrides = arguments.overrides();
  return config::load_config(options);
}

}  // namespace kedge::cli
