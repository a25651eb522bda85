// `kedge completion`: what shells load to complete, what they ask for, and pages for man.
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/completion.h"
#include "cli/shared/arguments.h"
#include "cli/verb_table.h"
#include "cli/verbs.h"
#include "core/file.h"
#include "core/log.h"

namespace kedge::cli {
namespace {

// Each script asks `kedge completion line "kedge train mod"` and gets a candidate a line, with a
// tab and its meaning; ":files" and ":folders" stand for what the shell finds itself.
constexpr const char* kBash =
    R"sh(# bash completion of kedge; in ~/.bashrc: source <(kedge completion bash)
_kedge_complete() {
  local line=${COMP_LINE:0:COMP_POINT} word meaning cur before kind
  local -a paths
  cur=${line##*[[:space:]]}
  # Bash takes = and : for ends of words: what stands before them in this word is there already.
  before=${cur%"${cur##*[=:]}"}
  [[ $COMP_WORDBREAKS == *=* ]] || before=
  COMPREPLY=()
  while IFS=$'\t' read -r word meaning; do
    case $word in
      :files | :folders)
        compopt -o filenames
        [[ $word == :files ]] && kind=-f || kind=-d
        mapfile -t paths < <(compgen "$kind" -- "${cur#"$before"}")
        COMPREPLY+=("${paths[@]}")
        ;;
      *)
        COMPREPLY+=("${word#"$before"}")
        [[ $word == *= ]] && compopt -o nospace
        ;;
    esac
  done < <("${COMP_WORDS[0]}" completion line "$line" 2>/dev/null)
}
complete -F _kedge_complete kedge
)sh";

constexpr const char* kZsh = R"sh(#compdef kedge
# zsh completion of kedge; in ~/.zshrc, after compinit: source <(kedge completion zsh)
_kedge() {
  local line word meaning
  local -a words_ shown keys shown_keys
  line="${(j: :)${(@)words[1,CURRENT-1]}} ${PREFIX}"
  while IFS=$'\t' read -r word meaning; do
    case $word in
      :files) _files ;;
      :folders) _files -/ ;;
      *=) keys+=("$word"); shown_keys+=("$word${meaning:+  -- $meaning}") ;;
      *) words_+=("$word"); shown+=("$word${meaning:+  -- $meaning}") ;;
    esac
  done < <("${words[1]}" completion line "$line" 2>/dev/null)
  (( $#words_ )) && compadd -l -d shown -a words_
  (( $#keys )) && compadd -l -S '' -d shown_keys -a keys
}
(( $+functions[compdef] )) && compdef _kedge kedge
)sh";

constexpr const char* kFish =
    R"sh(# fish completion of kedge: kedge completion fish > ~/.config/fish/completions/kedge.fish
function __kedge_complete
    set -l line (commandline -cp)
    set -l current (commandline -ct)
    for found in (kedge completion line "$line" 2>/dev/null)
        switch $found
            case ':files*'
                __fish_complete_path $current
            case ':folders*'
                __fish_complete_directories $current
            case '*'
                echo $found
        end
    end
end
complete -c kedge -f -a '(__kedge_complete)'
)sh";

Result<void> print_script(const char* script, Args args, const VerbHelp& help) {
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (!arguments->positionals().empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("unexpected word '{}'", arguments->positionals().front()),
                fmt::format("usage: {}", help.usage));
  }
  fmt::print("{}", script);
  return {};
}

Result<void> print_bash(Args args) {
  return print_script(kBash, args,
                      {.usage = "kedge completion bash",
                       .text = "Prints what bash loads: source <(kedge completion bash)",
                       .flags = {}});
}

Result<void> print_zsh(Args args) {
  return print_script(kZsh, args,
                      {.usage = "kedge completion zsh",
                       .text = "Prints what zsh loads, after compinit: source <(kedge completion "
                               "zsh)",
                       .flags = {}});
}

Result<void> print_fish(Args args) {
  return print_script(kFish, args,
                      {.usage = "kedge completion fish",
                       .text = "Prints what fish loads: kedge completion fish > "
                               "~/.config/fish/completions/kedge.fish",
                       .flags = {}});
}

Result<void> print_line_words(Args args) {
  const VerbHelp help = {.usage = "kedge completion line LINE",
                         .text = "Prints what may stand at the end of a command line, for shells.",
                         .flags = {}};
  const auto arguments =
      KEDGE_TRY(parse_or_help(args.size() == 1 && args[0] != "--help" ? Args() : args, help));
  if (!arguments) {
    return {};
  }
  if (args.size() != 1) {
    return fail(ErrorKind::Usage, "completion line needs one line",
                fmt::format("usage: {}", help.usage));
  }
  const Completion completion = complete_line(args.front());
  for (const Candidate& candidate : completion.candidates) {
    const std::size_t end = std::min(candidate.meaning.find('\n'), candidate.meaning.size());
    fmt::print("{}\t{}\n", candidate.word, candidate.meaning.substr(0, end));
  }
  fmt::print("{}{}", completion.with_files ? ":files\n" : "",
             completion.with_folders ? ":folders\n" : "");
  return {};
}

Result<void> write_man(Args args) {
  const VerbHelp help = {.usage = "kedge completion man FOLDER",
                         .text =
                             "Writes pages for man: kedge.1 and one a verb. `man -M` takes the "
                             "folder above man1.",
                         .flags = {}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1) {
    return fail(ErrorKind::Usage, "completion man needs a folder",
                fmt::format("usage: {}", help.usage));
  }
  const Path folder = Path(arguments->positionals().front()) / "man1";
  KEDGE_TRY(make_dirs(folder));
  std::vector<VerbFacts> all;
  for (const Verb& verb : verbs()) {
    const VerbFacts& facts = all.emplace_back(describe_verb(verb));
    KEDGE_TRY(write_file_atomic(folder / fmt::format("kedge-{}.1", facts.name), render_man(facts)));
  }
  KEDGE_TRY(write_file_atomic(folder / "kedge.1", render_man(all)));
  say("{} pages are in {}", all.size() + 1, folder.string());
  return {};
}

}  // namespace

int run_completion(Args args) {
  const VerbHelp help = {.usage =
                             "kedge completion bash | zsh | fish\n"
                             "       kedge completion man FOLDER",
                         .text =
                             "What a shell completes of kedge's command lines: verbs, options, "
                             "keys and values of a config,\nruns, sweeps and jobs; and pages "
                             "for man. All from what `kedge VERB --help` says.",
                         .flags = {}};
  static const std::map<std::string, Result<void> (*)(Args)> kWords = {{"bash", print_bash},
                                                                       {"zsh", print_zsh},
                                                                       {"fish", print_fish},
                                                                       {"line", print_line_words},
                                                                       {"man", write_man}};
  const auto word = args.empty() ? kWords.end() : kWords.find(args.front());
  if (word == kWords.end()) {
    std::vector<std::string> names;
    for (const auto& [name, run] : kWords) {
      names.push_back(name);
    }
    return help_or_unknown(args, help, names);
  }
  const auto done = word->second(args.subspan(1));
  return done ? kExitDone : report(done.error());
}

}  // namespace kedge::cli
