#include "sweep/reuse.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"
#include "search/propose.h"
#include "search/trial.h"
#include "sweep/sweep_folder.h"

namespace kedge::sweep {
namespace {

// Reading data sets whole would take longer than many a trial.
constexpr std::int64_t kEndBytes = 65536;
constexpr std::size_t kReadMax = 1000;  // files; of the others only names

std::string read_ends(const Path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::int64_t size = file ? static_cast<std::int64_t>(file.tellg()) : 0;
  std::string text(static_cast<std::size_t>(std::min(size, 2 * kEndBytes)), '\0');
  const std::int64_t begin = std::min(size, kEndBytes);
  const std::int64_t end = static_cast<std::int64_t>(text.size()) - begin;
  file.seekg(0);
  file.read(text.data(), begin);
  file.seekg(size - end);
  file.read(text.data() + begin, end);
  return text;
}

}  // namespace

std::string digest_program(const Path& folder, const std::string& program,
                           const std::vector<std::string>& command) {
  Digest digest;
  const auto add = [&](const std::string& word) {
    const Result<std::string> text =
        word.empty() ? Result<std::string>("") : read_file(folder / word);
    digest.add(text ? *text : word);
    digest.add(std::string_view("\0", 1));
  };
  add(program);
  for (const std::string& word : command) {
    add(word);
  }
  return digest.text();
}

std::vector<std::string> files_of_program(const Path& folder, const std::string& program,
                                          const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  words.insert(words.begin(), program);
  std::vector<std::string> files;
  for (const std::string& word : words) {
    std::error_code ignored;
    if (!word.empty() && std::ranges::find(files, word) == files.end() &&
        std::filesystem::is_regular_file(folder / word, ignored)) {
      files.push_back(word);
    }
  }
  return files;
}

std::string digest_data(const std::vector<Path>& paths) {
  Digest digest;
  std::size_t count = 0;
  const auto add = [&](const Path& file, const std::string& name) {
    digest.add(name + "\n");
    if (count++ < kReadMax) {
      digest.add(fmt::format("{}\n", size_of_file(file).value_or(0)));
      digest.add(read_ends(file));
    }
  };
  for (const Path& path : paths) {
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) {
      add(path, path.filename().string());
      continue;
    }
    std::vector<Path> files;
    std::filesystem::recursive_directory_iterator entry(path, error);
    for (; !error && entry != std::filesystem::recursive_directory_iterator();
         entry.increment(error)) {
      if (entry->is_regular_file(error)) {
        files.push_back(entry->path());
      }
    }
    std::ranges::sort(files);
    for (const Path& file : files) {
      add(file, file.lexically_relative(path).string());
    }
  }
  return count > 0 ? digest.text() : std::string();
}

std::string code_of(const Sweep& sweep) {
  const SweepFacts& facts = sweep.facts();
  return digest_program(facts.folder, facts.program, sweep.plan().command);
}

std::optional<TrialResult> find_identical(const SweepFolder& folder, const nlohmann::json& values) {
  const std::string identity = search::identity_of(values);
  for (const Path& path : SweepFolder::list(folder.path().parent_path())) {
    auto other = SweepFolder::open(path.string(), path.parent_path());
    if (!other || (*other)->facts().id == folder.facts().id ||
        (*other)->facts().code != folder.facts().code ||
        (*other)->facts().data != folder.facts().data ||
        (*other)->plan().metric.name != folder.plan().metric.name) {
      continue;
    }
    const auto trials = (*other)->read_trials();
    if (!trials) {
      continue;
    }
    for (const TrialView& view : *trials) {
      if (view.trial.state == search::TrialState::Finished &&
          search::identity_of(view.trial.values) == identity) {
        TrialResult result = *view.result;
        result.reused = fmt::format("{}/{}", (*other)->facts().id, view.trial.number);
        return result;
      }
    }
  }
  return std::nullopt;
}

}  // namespace kedge::sweep
