#include "sweep/sweep_folder.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/exclusive_file.h"
#include "core/file.h"
#include "core/nearest.h"
#include "core/result.h"
#include "core/time_text.h"
#include "sweep/reuse.h"
#include "sweep/trial_files.h"

namespace kedge::sweep {
namespace {

std::optional<std::int64_t> number_of(const std::string& name) {
  constexpr std::string_view kEnding = ".json";
  std::int64_t number = 0;
  const char* const end = name.data() + name.size() - std::min(name.size(), kEnding.size());
  const auto parsed = std::from_chars(name.data(), end, number);
  const bool is_number = name.ends_with(kEnding) && parsed.ec == std::errc{} && parsed.ptr == end;
  return is_number && number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<nlohmann::json> read_json(const Path& path) {
  const auto text = read_file(path);
  if (!text) {
    return std::nullopt;
  }
  auto json = nlohmann::json::parse(*text, nullptr, false);
  return json.is_object() ? std::optional(std::move(json)) : std::nullopt;
}

Result<std::unique_ptr<SweepFolder>> SweepFolder::create(const Path& dir, const NewSweep& sweep) {
  auto plan = KEDGE_TRY(read_plan(sweep.text, sweep.file_name, sweep.is_table));
  SweepFacts facts = KEDGE_TRY(make_facts(sweep, plan));
  plan.metric = sweep.is_table ? sweep.metric : plan.metric;
  const Path beside = dir / fmt::format(".making-{}", facts.id);
  const Path path = std::filesystem::absolute(dir / facts.id).lexically_normal();
  const auto fill = [&]() -> Result<void> {
    KEDGE_TRY(make_dirs(beside / "trials"));
    KEDGE_TRY(write_file_atomic(beside / facts.file, sweep.text));
    return write_file_atomic(beside / "sweep.json", facts_json(facts).dump(2) + "\n");
  };
  auto filled = fill();
  std::error_code error;
  if (filled) {
    std::filesystem::rename(beside, path, error);
  }
  if (!filled || error) {
    std::error_code ignored;  // what cannot be removed has a name that nobody reads
    std::filesystem::remove_all(beside, ignored);
    return filled ? std::unexpected(io_error("cannot create", path, error.value()))
                  : Result<std::unique_ptr<SweepFolder>>(std::unexpected(filled.error()));
  }
  // The constructor is private.
  return std::unique_ptr<SweepFolder>(new SweepFolder(path, std::move(facts), std::move(plan)));
}

std::vector<Path> SweepFolder::list(const Path& dir) {
  std::vector<Path> folders;
  std::error_code error;
  std::filesystem::directory_iterator entry(dir, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (std::filesystem::exists(entry->path() / "sweep.json")) {
      folders.push_back(entry->path());
    }
  }
  std::ranges::sort(folders);
  return folders;
}

Result<std::unique_ptr<SweepFolder>> SweepFolder::open(const std::string& word, const Path& dir) {
  Path path = std::filesystem::exists(Path(word) / "sweep.json") ? Path(word) : dir / word;
  if (!std::filesystem::exists(path / "sweep.json")) {
    std::vector<std::string> known;
    for (const Path& folder : list(dir)) {
      const auto json = read_json(folder / "sweep.json");
      known.push_back(folder.filename().string());
      if (json && json->value("name", "") == word) {
        path = folder;
      }
    }
    if (!std::filesystem::exists(path / "sweep.json")) {
      Error error = unknown_name("sweep", word, known);
      error.kind = ErrorKind::NotFound;
      error.message += fmt::format(" (looked in {})", dir.string());
      if (known.empty()) {
        error.hint = "no sweep is there; `kedge sweep FILE` makes one, --dir looks elsewhere";
      }
      return std::unexpected(std::move(error));
    }
  }
  path = std::filesystem::absolute(path).lexically_normal();
  const auto json = read_json(path / "sweep.json").value_or(nlohmann::json());
  SweepFacts facts = KEDGE_TRY(parse_facts(json, (path / "sweep.json").string()));
  const std::string text = KEDGE_TRY(read_file(path / facts.file));
  if (digest_of(text) != facts.digest) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} was edited after the sweep began; its trials belong to the text "
                            "before",
                            (path / facts.file).string()),
                "put the old text back; or start a sweep of its own with the new one");
  }
  auto plan = KEDGE_TRY(read_plan(text, (path / facts.file).string(), facts.file == "sweep.csv"));
  plan.metric = facts.file == "sweep.csv" ? facts.metric : plan.metric;
  // The constructor is private.
  return std::unique_ptr<SweepFolder>(new SweepFolder(path, std::move(facts), std::move(plan)));
}

Path SweepFolder::trial_path(std::int64_t number) const {
  return path_ / "trials" / std::to_string(number);
}

Result<Control> SweepFolder::read_control() {
  Control control;
  if (!std::filesystem::exists(path_ / "sweep.json")) {
    return fail(ErrorKind::NotFound, fmt::format("sweep {} is gone", path_.string()));
  }
  if (const auto json = read_json(path_ / "control.json")) {
    control.state = parse_sweep_state(json->value("state", "")).value_or(SweepState::Running);
    control.reason = json->value("reason", "");
  }
  return control;
}

Result<void> SweepFolder::write_control(const Control& control) {
  const nlohmann::json json = {
      {"state", name_of(control.state)}, {"reason", control.reason}, {"changed", utc_now()}};
  return write_file_atomic(path_ / "control.json", json.dump(2) + "\n");
}

Result<std::vector<TrialView>> SweepFolder::read_trials() {
  std::int64_t last = 0;
  std::error_code error;
  // Opening a folder makes a network file system ask its server; looking up a name may not.
  std::filesystem::directory_iterator entry(path_ / "trials", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    last = std::max(last, number_of(entry->path().filename().string()).value_or(0));
  }
  if (error) {
    return std::unexpected(io_error("cannot read folder", path_ / "trials", error.value()));
  }
  std::vector<TrialView> trials;
  for (std::int64_t number = 1; number <= last; ++number) {
    auto view = read_trial(number);
    if (!view) {
      break;
    }
    trials.push_back(std::move(*view));
  }
  return trials;
}

std::optional<TrialView> SweepFolder::read_trial(std::int64_t number) {
  if (const auto known = finished_.find(number); known != finished_.end()) {
    return known->second;
  }
  auto description = descriptions_.find(number);
  if (description == descriptions_.end()) {
    auto json = read_json(path_ / "trials" / fmt::format("{}.json", number));
    if (!json) {
      return std::nullopt;
    }
    description = descriptions_.emplace(number, std::move(*json)).first;
  }
  TrialView view = view_of(description->second, trial_path(number));
  view.trial.number = number;
  if (view.result && view.result->state == search::TrialState::Finished) {
    finished_.emplace(number, view);
  }
  return view;
}

Result<bool> SweepFolder::add_trial(std::int64_t number, const nlohmann::json& values) {
  nlohmann::json json = {{"number", number},
                         {"values", values},
                         {"run", run_name(facts_.id, number)},
                         {"handed_out", utc_now()}};
  const Path path = path_ / "trials" / fmt::format("{}.json", number);
  const bool is_ours = KEDGE_TRY(create_file_exclusively(path, json.dump(2) + "\n"));
  if (is_ours) {
    descriptions_.emplace(number, std::move(json));
  }
  return is_ours;
}

Result<bool> SweepFolder::add_finished(std::int64_t number, const TrialView& view,
                                       const std::string& from) {
  TrialResult result = *view.result;
  if (result.reused.empty()) {
    result.reused = fmt::format("{}/{}", from, view.trial.number);
  }
  // In one file: a trial that is seen without its result would be run.
  const nlohmann::json json = {{"number", number},
                               {"values", view.trial.values},
                               {"run", view.run},
                               {"handed_out", utc_now()},
                               {"result", result_json(result)}};
  return create_file_exclusively(path_ / "trials" / fmt::format("{}.json", number),
                                 json.dump(2) + "\n");
}

Result<bool> SweepFolder::add_result(std::int64_t number, const TrialResult& result) {
  KEDGE_TRY(make_dirs(trial_path(number)));
  return create_file_exclusively(trial_path(number) / "result.json",
                                 result_json(result).dump(2) + "\n");
}

Result<void> SweepFolder::write_progress(std::int64_t number, const std::vector<double>& curve) {
  const nlohmann::json json = {{"curve", curve}};
  return write_file_atomic(trial_path(number) / "progress.json", json.dump() + "\n");
}

Result<void> SweepFolder::pause(std::int64_t number) {
  return write_file_atomic(trial_path(number) / "paused.json",
                           nlohmann::json{{"paused", utc_now()}}.dump() + "\n");
}

std::optional<TrialResult> SweepFolder::find_known(const nlohmann::json& values) {
  return find_identical(*this, values);
}

// By link() and unlink(): a rename would replace an older result that a file server shows late.
Result<bool> SweepFolder::retry(std::int64_t number) {
  const Path result = trial_path(number) / "result.json";
  for (int aside = 1;; ++aside) {
    std::error_code error;
    std::filesystem::create_hard_link(
        result, trial_path(number) / fmt::format("result-{}.json", aside), error);
    if (error == std::errc::file_exists) {
      continue;
    }
    if (error == std::errc::no_such_file_or_directory) {
      return false;
    }
    if (!error) {
      std::filesystem::remove(result, error);
    }
    if (error) {
      return std::unexpected(io_error("cannot set aside", result, error.value()));
    }
    return true;
  }
}

}  // namespace kedge::sweep
