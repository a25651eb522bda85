// The arguments of the verbs that read a config: a file, flags, and key=value pairs, which agents
// write as --key=value and scripts as --key value.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "core/result.h"

namespace kedge::cli {

struct Flag {
  std::string_view name;  // "--json"
  // What to call its value in the help; empty: it takes none; in brackets: it may have one.
  std::string_view value;
  std::string_view meaning;
};

struct VerbHelp {
  // "kedge train [CONFIG] [key=value ...]". A verb takes values of the config only if it shows so.
  std::string_view usage;
  std::string_view text;
  std::vector<Flag> flags;
  std::vector<std::string_view> words = {};  // the verb's own verbs
};

class Arguments {
 public:
  // Flags are checked against `help`; --help is always known. A key=value is refused unless the
  // usage shows it.
  static Result<Arguments> parse(std::span<const std::string> args, const VerbHelp& help);

  bool has(std::string_view flag) const { return flags_.contains(std::string(flag)); }

  // All values of a flag that may be given more than once, in order.
  std::vector<std::string> values(std::string_view flag) const;

  // The flag's value, the last one's where it is repeated, or `fallback`.
  std::string value(std::string_view flag, std::string fallback = {}) const;
  Result<std::int64_t> number(std::string_view flag, std::int64_t fallback,
                              std::int64_t least = 0) const;

  const std::vector<std::string>& positionals() const { return positionals_; }

  const std::vector<std::string>& overrides() const { return overrides_; }

 private:
  std::map<std::string, std::vector<std::string>> flags_;
  std::vector<std::string> positionals_;
  std::vector<std::string> overrides_;
};

std::string render_help(const VerbHelp& help);

// Who wants to know what verbs say of themselves, in place of printing it; nobody: empty.
using HelpReader = std::function<void(const VerbHelp& help)>;
void read_help_with(HelpReader reader);

// Prints the help, or gives it to the reader.
void show_help(const VerbHelp& help);

bool asks_for_help(std::span<const std::string> args);

// Parses, prints the help when asked (and then returns nothing), or fails.
Result<std::optional<Arguments>> parse_or_help(std::span<const std::string> args,
                                               const VerbHelp& help);

// For a verb with verbs of its own (`kedge config show`), when the first word is none of `words`:
// the help where it was asked for, else an error; returns the exit code.
int help_or_unknown(std::span<const std::string> args, const VerbHelp& help,
                    const std::vector<std::string>& words);

// --config or the first positional, $KEDGE_CONFIG, config.yaml; then environment, sweep values and
// overrides.
Result<config::LoadedConfig> load_config_of(const Arguments& arguments);

inline constexpr Flag kConfigFlag{"--config", "FILE", "the config file; also as the first word"};
inline constexpr Flag kJsonFlag{"--json", "", "print JSON"};

}  // namespace kedge::cli
