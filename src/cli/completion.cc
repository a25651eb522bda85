#include "cli/completion.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "config/config.h"
#include "config/load.h"
#include "core/file.h"
#include "core/process.h"
#include "data/dataset.h"
#include "data/get.h"
#include "jobs/launcher.h"
#include "search/sampler.h"

namespace kedge::cli {
namespace {

// As a shell divides a line: blanks between words, quotes and backslashes inside them. The last is
// what is being typed, perhaps nothing.
std::vector<std::string> split_line(std::string_view line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      quote = c == quote ? 0 : quote;
      words.back() += c == quote || quote == 0 ? "" : std::string(1, c);
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '\\' && i + 1 < line.size()) {
      words.back() += line[++i];
    } else if (c != ' ' && c != '\t') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

std::vector<Path> list_folder(const Path& folder) {
  std::vector<Path> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!entry->path().filename().string().starts_with('.')) {
      paths.push_back(entry->path());
    }
  }
  std::ranges::sort(paths, std::greater());  // names of runs, sweeps and jobs sort by age
  return paths;
}

// Folders with this file, by name.
std::vector<Candidate> list_made(const Path& folder, const char* file) {
  std::vector<Candidate> found;
  for (const Path& path : list_folder(folder)) {
    std::error_code ignored;
    if (std::filesystem::exists(path / file, ignored)) {
      found.push_back({path.filename().string()});
    }
  }
  return found;
}

std::vector<Candidate> list_runs_here() {
  std::vector<Candidate> found;
  for (const Path& project : list_folder("runs")) {
    for (const Candidate& run : list_made(project, "run.json")) {
      const auto text = read_file(project / run.word / "run.json");
      const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
      const std::string name = json.is_object() ? json.value("name", "") : "";
      found.push_back({fmt::format("{}/{}", project.filename().string(), run.word), name});
    }
  }
  return found;
}

template <typename Plugins>
std::vector<Candidate> list_registry() {
  std::vector<Candidate> found;
  for (const auto& [name, entry] : Plugins::all()) {
    found.push_back({std::string(name), std::string(entry.summary)});
  }
  return found;
}

// Models and the like are kedge-train's: it is asked.
std::vector<Candidate> list_from_train(const std::string& kind) {
  const auto ran = run_process({.args = {kedge_train_program(), "list", kind, "--json"}});
  const auto json = nlohmann::json::parse(ran ? ran->output : "", nullptr, false);
  std::vector<Candidate> found;
  if (json.is_array()) {
    for (const nlohmann::json& plugin : json) {
      found.push_back({plugin.value("name", ""), plugin.value("summary", "")});
    }
  }
  return found;
}

template <typename Words>
std::vector<Candidate> words_of(const Words& words) {
  std::vector<Candidate> found;
  for (const auto& word : words) {
    found.push_back({std::string(word)});
  }
  return found;
}

std::vector<Candidate> list_gettable_data() {
  return words_of(data::list_gettable());
}

// What "RUN", "FILE" or "KIND" stand for in a verb's usage.
struct Meaning {
  std::string_view word;
  std::vector<Candidate> (*list)() = nullptr;
  bool is_file = false;
  bool is_folder = false;
};

constexpr auto kMeanings = std::to_array<Meaning>({
    {"RUN", list_runs_here},
    {"MODEL", list_runs_here, true},
    {"CKPT", list_runs_here, false, true},
    {"SWEEP", [] { return list_made("sweeps", "sweep.json"); }},
    {"ID", [] { return list_made("sweeps", "sweep.json"); }},
    {"INTO", [] { return list_made("sweeps", "sweep.json"); }},
    {"FROM", [] { return list_made("sweeps", "sweep.json"); }},
    {"JOB", [] { return list_made("jobs", "job.json"); }},
    {"JOB[.TASK]", [] { return list_made("jobs", "job.json"); }},
    {"NAME", list_gettable_data},
    {"KIND",
     [] {
       static constexpr auto kKinds =
           std::to_array<std::string_view>({"data", "transforms", "samplers", "schedulers", "gpus",
                                            "models", "losses", "optimizers", "schedules"});
       return words_of(kKinds);
     }},
    {"CONFIG", nullptr, true},
    {"FILE", nullptr, true},
    {"PATH", nullptr, true},
    {"INPUT", nullptr, true},
    {"OUTPUT", nullptr, true},
    {"OUT", nullptr, true},
    {"PROGRAM", nullptr, true},
    {"DIR", nullptr, false, true},
    {"FOLDER", nullptr, false, true},
    {"BACKUP", nullptr, false, true},
});

// Values of one key of a config.
std::vector<Candidate> list_values(const std::string& key) {
  static const std::map<std::string, std::vector<Candidate> (*)()> kRegistries = {
      {"model.name", [] { return list_from_train("models"); }},
      {"optimizer.name", [] { return list_from_train("optimizers"); }},
      {"schedule.name", [] { return list_from_train("schedules"); }},
      {"loss.name", [] { return list_from_train("losses"); }},
      {"data.name", list_registry<data::Sources>},
      {"job.scheduler", list_registry<jobs::Launchers>}};
  if (const auto found = kRegistries.find(key); found != kRegistries.end()) {
    return found->second();
  }
  static const config::LoadedConfig defaults;
  const config::Field* const field = defaults.find(key);
  if (field == nullptr) {
    return {};
  }
  std::vector<std::string> words = field->limits.choices;
  if (std::holds_alternative<bool*>(field->target) ||
      std::holds_alternative<std::optional<bool>*>(field->target)) {
    words = {"true", "false"};
  }
  return words_of(words);
}

class LineCompleter {
 public:
  explicit LineCompleter(std::vector<std::string> words) : words_(std::move(words)) {}

  Completion complete() {
    // words_[0] is kedge itself.
    std::size_t at = 1;
    if (at + 1 < words_.size() && words_[at] == "help") {
      ++at;
    }
    if (at + 1 >= words_.size()) {
      for (const Verb& verb : verbs()) {
        offer({std::string(verb.name), std::string(verb.summary)});
      }
      offer({"help", "what a verb takes"});
      offer({"version", "which kedge this is"});
      return std::move(completion_);
    }
    const Verb* const verb = find_verb(words_[at++]);
    if (verb == nullptr) {
      return {};
    }
    facts_ = describe_verb(*verb);
    if (!facts_.verbs.empty()) {
      if (at + 1 == words_.size()) {
        for (const VerbFacts& own : facts_.verbs) {
          offer({own.name.substr(own.name.find(' ') + 1), own.summary});
        }
        if (facts_.options.empty()) {
          return std::move(completion_);
        }
      } else if (const auto own = std::ranges::find(
                     facts_.verbs, fmt::format("{} {}", verb->name, words_[at]), &VerbFacts::name);
                 own != facts_.verbs.end()) {
        facts_ = VerbFacts(*own);
        ++at;
      }
    }
    complete_word(at);
    return std::move(completion_);
  }

 private:
  const std::string& last() const { return words_.back(); }

  void offer(Candidate candidate) {
    if (candidate.word.starts_with(last())) {
      completion_.candidates.push_back(std::move(candidate));
    }
  }

  void offer_meaning(std::string_view word, const std::string& before = "") {
    while (word.starts_with('[') || word.starts_with('<')) {
      word.remove_prefix(1);
    }
    word = word.substr(0, word.starts_with("JOB[") ? word.find("...") : word.find_first_of("].>"));
    const auto found = std::ranges::find(kMeanings, word, &Meaning::word);
    if (found == kMeanings.end()) {
      return;
    }
    completion_.with_files |= found->is_file;
    completion_.with_folders |= found->is_folder;
    if (found->list != nullptr) {
      for (Candidate& candidate : found->list()) {
        candidate.word.insert(0, before);
        offer(std::move(candidate));
      }
    }
  }

  // A NAME of an option is any; as a word of `data get` it is a data set's.
  void offer_option_value(const std::string& value, const std::string& before = "") {
    if (value != "NAME") {
      offer_meaning(value, before);
    }
  }

  const OptionFacts* find_option(const std::string& name) const {
    const auto found = std::ranges::find(facts_.options, name, &OptionFacts::name);
    return found == facts_.options.end() ? nullptr : &*found;
  }

  void complete_word(std::size_t first) {
    if (std::find(words_.begin() + 1, words_.end() - 1, "--") != words_.end() - 1) {
      completion_.with_files = true;
      return;
    }
    const OptionFacts* const before = find_option(words_[words_.size() - 2]);
    if (before != nullptr && !before->value.empty() && !before->value.starts_with('[')) {
      offer_option_value(before->value);
      return;
    }
    const std::size_t equals = last().find('=');
    if (equals != std::string::npos) {
      complete_value(last().substr(0, equals + 1));
      return;
    }
    for (const OptionFacts& option : facts_.options) {
      if (last().starts_with('-')) {
        offer({option.name, option.meaning});
      }
    }
    if (last().starts_with('-')) {
      offer({"--help", "what the verb takes"});
      return;
    }
    offer_meaning(positional(first));
    if (facts_.usage.contains("key=value")) {
      static const config::LoadedConfig defaults;
      for (const config::Field& field : defaults.fields()) {
        offer({field.path + "=", field.doc});
      }
    }
  }

  // `start`: "--option=" or "key=".
  void complete_value(const std::string& start) {
    const std::string name = start.substr(0, start.size() - 1);
    if (const OptionFacts* const option = find_option(name)) {
      offer_option_value(option->value, start);
      return;
    }
    const std::string key = name.starts_with("--") ? name.substr(2) : name;
    for (const Candidate& value : list_values(key)) {
      offer({start + value.word, value.meaning});
    }
    completion_.with_files = key.ends_with("path") || key.ends_with("file") ||
                             key.ends_with("dir") || key == "model.weights";
  }

  // The word of the usage that stands where the last one does: the n-th, or the last that repeats.
  std::string positional(std::size_t first) const {
    std::size_t index = 0;
    for (std::size_t i = first; i + 1 < words_.size(); ++i) {
      const OptionFacts* const option = find_option(words_[i]);
      const bool is_value = i > first && find_option(words_[i - 1]) != nullptr &&
                            !find_option(words_[i - 1])->value.empty() &&
                            !words_[i - 1].contains('=');
      index += option == nullptr && !is_value && !words_[i].contains('=') ? 1 : 0;
    }
    const std::size_t line_end = facts_.usage.find('\n');
    const std::vector<std::string> usage = split_line(facts_.usage.substr(0, line_end));
    std::vector<std::string> places;
    for (const std::string& word : usage) {
      const std::size_t letter = word.find_first_not_of('[');
      const bool is_name = letter != std::string::npos &&
                           std::isupper(static_cast<unsigned char>(word[letter])) != 0;
      if (is_name && !word.contains('=')) {
        places.push_back(word);
      }
    }
    if (places.empty()) {
      return {};
    }
    return places[std::min(index, places.size() - 1)];
  }

  std::vector<std::string> words_;
  VerbFacts facts_;
  Completion completion_;
};

}  // namespace

Completion complete_line(std::string_view line) {
  return LineCompleter(split_line(line)).complete();
}

}  // namespace kedge::cli
