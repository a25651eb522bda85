#include "cli/verb_table.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/shared/arguments.h"

namespace kedge::cli {
namespace {

constexpr auto kVerbs = std::to_array<Verb>({
    {"status", "what runs in this folder, what failed, what to type next; `kedge` alone",
     run_status},
    {"init", "make a project folder that runs", run_init},
    {"train", "train a model from a config", run_train_ranks},
    {"eval", "measure a trained model", nullptr},
    {"predict", "use a trained model on images or text", nullptr},
    {"generate", "text from a language model", nullptr},
    {"chat", "talk with a language model", nullptr},
    {"serve", "a language model behind OpenAI's API", nullptr},
    {"score", "write a teacher's scores, for trainings that learn from them", nullptr},
    {"export", "write a trained model for other programs", nullptr},
    {"merge", "put low-rank adapters into a language model's weights", nullptr},
    {"ensemble", "use the best models of a sweep together, and measure that", run_ensemble},
    {"run", "run any program and keep what it prints and how it ends", run_run},
    {"verify-resume", "prove that a resumed training goes on the same", nullptr},
    {"sweep", "search over configs: make a sweep, look at it, change it", run_sweep},
    {"agent", "work on a sweep's trials", run_agent},
    {"importance", "which parameters of a sweep matter", run_importance},
    {"bench", "what this machine makes of a config, and what would be faster", run_bench},
    {"ckpt", "list, check, compare, thin out and export checkpoints", run_ckpt},
    {"config", "show every effective value, or the reference", run_config},
    {"data", "get data sets, tokenize text", run_data},
    {"runs", "list runs and print what they logged", run_runs},
    {"server", "keep runs and show them: the tracking server", run_server},
    {"artifact", "versioned files on a tracking server", run_artifact},
    {"sync", "send runs to a tracking server", run_sync},
    {"submit", "hand a job to Slurm, HTCondor or this machine", run_submit},
    {"jobs", "the jobs that were submitted, and how they are", run_jobs},
    {"logs", "what jobs have printed, over all nodes", run_logs},
    {"cancel", "end jobs, wherever they run", run_cancel},
    {"retry", "submit again what did not end well", run_retry},
    {"container", "images of what a run needs, for Docker and Apptainer", run_container},
    {"task", "what runs inside a job, around its program", run_task},
    {"list", "what models, optimizers, ... there are", run_list},
    {"scale", "what more ranks on this machine would bring", run_scale},
    {"net", "whether two machines reach each other, and how fast", run_net},
    {"completion", "what a shell completes; pages for man", run_completion},
});

VerbFacts facts_of(const VerbHelp& help) {
  VerbFacts facts;
  facts.usage = help.usage;
  facts.text = help.text;
  for (const Flag& flag : help.flags) {
    facts.options.push_back(
        {std::string(flag.name), std::string(flag.value), std::string(flag.meaning)});
  }
  return facts;
}

// What a verb answers to --help, and the names of its own verbs.
VerbFacts ask(const Verb& verb, const std::vector<std::string>& args,
              std::vector<std::string>& words) {
  VerbFacts facts;
  read_help_with([&](const VerbHelp& help) {
    facts = facts_of(help);
    words.assign(help.words.begin(), help.words.end());
  });
  run_verb(verb, args);
  read_help_with(nullptr);
  return facts;
}

std::string first_sentence(const std::string& text) {
  std::string sentence = text.substr(0, text.find_first_of(".:;"));
  std::ranges::replace(sentence, '\n', ' ');
  return sentence;
}

}  // namespace

std::span<const Verb> verbs() {
  return kVerbs;
}

const Verb* find_verb(std::string_view name) {
  const auto found = std::ranges::find(kVerbs, name, &Verb::name);
  return found == kVerbs.end() ? nullptr : &*found;
}

int run_verb(const Verb& verb, Args args) {
  return verb.run != nullptr ? verb.run(args) : run_in_kedge_train(std::string(verb.name), args);
}

VerbFacts describe_verb(const Verb& verb) {
  std::vector<std::string> words;
  VerbFacts facts = ask(verb, {"--help"}, words);
  facts.name = verb.name;
  facts.summary = verb.summary;
  for (const std::string& word : words) {
    std::vector<std::string> none;
    VerbFacts& own = facts.verbs.emplace_back(ask(verb, {word, "--help"}, none));
    own.name = fmt::format("{} {}", verb.name, word);
    own.summary = first_sentence(own.text);
  }
  return facts;
}

std::string render_family(const VerbFacts& facts) {
  std::string text = fmt::format("usage: kedge {} VERB ...\n\n{}\n", facts.name, facts.text);
  for (const VerbFacts& own : facts.verbs) {
    text += fmt::format("\n{}\n", own.usage);
    for (const OptionFacts& option : own.options) {
      text += fmt::format("  {:<20} {}\n", option.name + " " + option.value, option.meaning);
    }
  }
  return text;
}

}  // namespace kedge::cli
