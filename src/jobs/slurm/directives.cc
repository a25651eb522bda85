#include "jobs/slurm/directives.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

namespace kedge::jobs::slurm {
namespace {

constexpr std::string_view kComment = "--comment=";
constexpr std::string_view kMark = "kedge:";

struct Rule {
  std::string_view name;      // long
  char letter;                // its short form; 0: none
  std::string_view replaces;  // the option of ours that it would override; empty: always refused
  std::string_view instead;   // what to write
};

// Options that kedge may give itself, and those with which sbatch makes another job than kedge
// looks after.
constexpr auto kRules = std::to_array<Rule>({
    {"array", 'a', "", "--tasks, --in or --from of `kedge submit`, and job.at_once"},
    {"dependency", 'd', "", "--after of `kedge submit`"},
    {"wait", 'W', "", "`kedge jobs --wait`"},
    {"parsable", 0, "", "nothing: kedge asks for it"},
    {"test-only", 0, "", "`kedge submit --dry-run`"},
    {"wrap", 0, "", "`kedge submit -- PROGRAM`"},
    {"no-requeue", 0, "", "job.continuation=chain"},
    {"requeue", 0, "", "nothing: kedge asks for it"},
    {"open-mode", 0, "", "nothing: what a job prints is always appended"},
    {"kill-on-invalid-dep", 0, "", "nothing: kedge asks for it"},
    {"job-name", 'J', "", "--name of `kedge submit`"},
    {"chdir", 'D', "", "`cd` to the folder before `kedge submit`"},
    {"output", 'o', "", "job.output"},
    {"error", 'e', "", "job.output, where both go"},
    {"signal", 0, "", "job.grace"},
    {"partition", 'p', "partition", "job.queue"},
    {"account", 'A', "account", "job.account"},
    {"qos", 'q', "qos", "job.qos"},
    {"constraint", 'C', "constraint", "job.constraint"},
    {"reservation", 0, "reservation", "job.reservation"},
    {"nodes", 'N', "nodes", "job.nodes"},
    {"ntasks", 'n', "ntasks-per-node", "job.nodes and job.ranks"},
    {"ntasks-per-node", 0, "ntasks-per-node", "job.ranks"},
    {"cpus-per-task", 'c', "cpus-per-task", "job.cpus"},
    {"mem", 0, "mem", "job.memory"},
    {"mem-per-cpu", 0, "mem", "job.memory, or also job.memory=0"},
    {"mem-per-gpu", 0, "mem", "job.memory, or also job.memory=0"},
    {"gpus", 'G', "gpus-per-node", "job.gpus, or also job.gpus=0"},
    {"gpus-per-node", 0, "gpus-per-node", "job.gpus, or also job.gpus=0"},
    {"gpus-per-task", 0, "gpus-per-node", "job.gpus, or also job.gpus=0"},
    {"gres", 0, "gpus-per-node", "job.gpus, or also job.gpus=0"},
    {"time", 't', "time", "job.time"},
});

std::string_view name_of(std::string_view option) {
  return option.substr(2, option.find('=') == option.npos ? option.npos : option.find('=') - 2);
}

// The rule for a word of a directive: "--name", "--name=value", "-x", "-xvalue".
const Rule* find_rule(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') {
    return nullptr;
  }
  const bool is_long = word[1] == '-';
  const auto found = std::ranges::find_if(kRules, [&](const Rule& rule) {
    return is_long ? rule.name == name_of(word) : rule.letter == word[1];
  });
  return found == kRules.end() ? nullptr : &*found;
}

// GPUs are one of many kinds of things that gres counts.
bool is_other_gres(std::string_view directive) {
  return directive.find("gres") != directive.npos && directive.find("gpu") == directive.npos;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    if (end > 0) {
      words.push_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

Result<void> check(const std::vector<std::string>& own, const std::string& directive) {
  for (const std::string_view word : words_of(directive)) {
    const Rule* const rule = find_rule(word);
    const bool collides =
        rule != nullptr &&
        (rule->replaces.empty() || std::ranges::any_of(own, [&](const std::string& option) {
           return name_of(option) == rule->replaces;
         }));
    if (collides && !is_other_gres(directive)) {
      return fail(
          ErrorKind::Usage,
          fmt::format("job.directives: '{}' would override what kedge says itself", directive),
          fmt::format("use {}", rule->instead));
    }
  }
  return {};
}

// What stands behind "--comment=" or "--comment ", without quotes around it.
std::string comment_in(std::string_view directive) {
  std::string_view text = directive.substr(std::min(kComment.size(), directive.size()));
  const bool is_quoted = text.size() > 1 && text.front() == text.back() &&
                         (text.front() == '"' || text.front() == '\'');
  return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
}

}  // namespace

Result<std::vector<std::string>> merge_directives(std::vector<std::string> own,
                                                  const std::vector<std::string>& given) {
  for (const std::string& directive : given) {
    if (directive.starts_with("--comment=") || directive.starts_with("--comment ")) {
      const auto ours = std::ranges::find_if(
          own, [](const std::string& option) { return option.starts_with(kComment); });
      if (ours != own.end()) {
        *ours = fmt::format("{}{} {}", kComment, comment_in(directive),
                            std::string_view(*ours).substr(kComment.size()));
        continue;
      }
    }
    KEDGE_TRY(check(own, directive));
    own.push_back(directive);
  }
  return own;
}

std::string mark_in(const std::string& comment) {
  const std::size_t at = comment.rfind(kMark);
  const bool is_word = at == 0 || (at != comment.npos && comment[at - 1] == ' ');
  return is_word ? comment.substr(at, comment.find(' ', at) - at) : std::string();
}

}  // namespace kedge::jobs::slurm
