// All verbs of `kedge`, and what each says of itself: its --help is the one source of the pages for
// man and of what shells complete.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs.h"

namespace kedge::cli {

struct Verb {
  std::string_view name;
  std::string_view summary;
  int (*run)(Args);  // null: kedge-train has it
};

std::span<const Verb> verbs();

const Verb* find_verb(std::string_view name);

// A verb of the table, with the words behind it.
int run_verb(const Verb& verb, Args args);

struct OptionFacts {
  std::string name;   // "--filter"
  std::string value;  // "QUERY"; empty: it takes none; in brackets: it may have one
  std::string meaning;
};

struct VerbFacts {
  std::string name;  // "runs ls"
  std::string summary;
  std::string usage;  // "kedge runs ls [DIR]"
  std::string text;
  std::vector<OptionFacts> options;
  std::vector<VerbFacts> verbs;  // its own ("ls", "show")
};

VerbFacts describe_verb(const Verb& verb);

// What `kedge runs --help` prints of a verb with verbs of its own: all their options.
std::string render_family(const VerbFacts& facts);

}  // namespace kedge::cli
