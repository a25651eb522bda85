// kedge: small, without libtorch, up in milliseconds.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/shared/arguments.h"
#include "cli/verb_table.h"
#include "cli/verbs.h"
#include "core/nearest.h"
#include "core/result.h"

namespace kedge::cli {
namespace {

std::string usage() {
  std::string text = "usage: kedge VERB [...]      `kedge VERB --help` says more\n\n";
  for (const Verb& verb : verbs()) {
    text += fmt::format("  {:<10} {}\n", verb.name, verb.summary);
  }
  return text;
}

// Verbs with verbs of their own say with --help what all of these take.
bool prints_family(const Verb& verb, Args args) {
  if (args.size() != 1 || !asks_for_help(args)) {
    return false;
  }
  const VerbFacts facts = describe_verb(verb);
  const bool is_family = !facts.verbs.empty() && facts.options.empty();
  if (is_family) {
    fmt::print("{}", render_family(facts));
  }
  return is_family;
}

int run_words(Args args) {
  const Verb* const verb = find_verb(args.front());
  if (verb == nullptr) {
    std::vector<std::string> names;
    for (const Verb& known : verbs()) {
      names.emplace_back(known.name);
    }
    names.insert(names.end(), {"help", "version"});
    return report(unknown_name("verb", args.front(), names));
  }
  const Args rest = args.subspan(1);
  return prints_family(*verb, rest) ? kExitDone : run_verb(*verb, rest);
}

// `kedge help runs ls` is `kedge runs ls --help`.
int run_help(Args words) {
  if (words.empty()) {
    fmt::print("{}", usage());
    return kExitDone;
  }
  std::vector<std::string> args(words.begin(), words.end());
  args.emplace_back("--help");
  return run_words(args);
}

int run_version(Args words) {
  if (!words.empty()) {
    return report({ErrorKind::Usage, fmt::format("unexpected word '{}'", words.front()),
                   "usage: kedge version"});
  }
  fmt::print("kedge {}\n", KEDGE_VERSION);
  return kExitDone;
}

int run(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty() || args.front() == "--json") {
    return run_status(args);
  }
  const std::string& first = args.front();
  const Args rest = Args(args).subspan(1);
  if (first == "--help" || first == "-h" || first == "help") {
    return run_help(rest);
  }
  if (first == "--version" || first == "-V" || first == "version") {
    return run_version(rest);
  }
  return run_words(args);
}

}  // namespace
}  // namespace kedge::cli

int main(int argc, char** argv) {
  return kedge::cli::run(argc, argv);
}
