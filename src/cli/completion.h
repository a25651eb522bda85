// What may stand at the end of a command line: verbs, options, keys and values of a config, and
// what there is in this folder. Pages for man, from the same facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verb_table.h"

namespace kedge::cli {

struct Candidate {
  std::string word;
  std::string meaning = {};
};

struct Completion {
  std::vector<Candidate> candidates;  // all that begin with what is there of the last word
  bool with_files = false;            // and files that the shell finds
  bool with_folders = false;          // and folders
};

// `line`: "kedge train mod", up to the cursor. A quote that is open counts as closed.
Completion complete_line(std::string_view line);

// troff of "kedge.1" and of a page a verb ("kedge-runs.1").
std::string render_man(const std::vector<VerbFacts>& all);
std::string render_man(const VerbFacts& verb);

}  // namespace kedge::cli
