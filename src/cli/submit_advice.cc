// `kedge submit --advise` and `--probe`: what to know before submitting.
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/estimate.h"
#include "cli/shared/json_output.h"
#include "cli/submit.h"
#include "core/log.h"
#include "jobs/advice.h"

namespace kedge::cli {
namespace {

namespace fs = std::filesystem;

std::uint64_t size_of(const Path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    return fs::file_size(path, error);
  }
  std::uint64_t size = 0;
  fs::recursive_directory_iterator entry(path, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    size += entry->is_regular_file(ignored) ? entry->file_size(ignored) : 0;
  }
  return size;
}

// What job.inputs names and what the config trains on.
std::uint64_t size_of_inputs(const jobs::JobSpec& spec,
                             const std::optional<config::LoadedConfig>& config) {
  std::uint64_t size = 0;
  for (const std::string& input : spec.wants.inputs) {
    size += input.find("://") == std::string::npos ? size_of(spec.folder / input) : 0;
  }
  if (config && (*config)->data.name != "synthetic") {
    const config::DataConfig& data = (*config)->data;
    size +=
        size_of(spec.folder / (data.path.empty() ? Path(data.root) / data.name : Path(data.path)));
  }
  return size;
}

// The words that change the training; what the job needs is not for the probe.
std::vector<std::string> overrides_for_training(const Arguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides();
  std::erase_if(overrides, [](const std::string& word) {
    return word.starts_with("job.") || word.starts_with("--job.") ||
           word.find('{') != std::string::npos;
  });
  return overrides;
}

nlohmann::json advice_json(const KnownWork& known, const std::vector<jobs::Advice>& lines) {
  nlohmann::json json = {{"estimate_s", nullptr}, {"speeds", nlohmann::json::array()}};
  if (known.estimate) {
    json["estimate_s"] = known.estimate->task_s;
    json["from"] = known.estimate->from;
  }
  for (const jobs::MeasuredSpeed& speed : known.speeds) {
    json["speeds"].push_back({{"device", speed.device},
                              {"is_gpu", speed.is_gpu},
                              {"samples_per_s", speed.samples_per_s}});
  }
  for (const jobs::Advice& line : lines) {
    json["advice"][line.about] = line.text;
  }
  return json;
}

}  // namespace

Result<KnownWork> estimate_work(const Arguments& arguments, Args command, const jobs::JobBook& book,
                                const jobs::JobSpec& spec) {
  const auto config = KEDGE_TRY(config_to_train(arguments, command));
  const bool on_gpu = spec.wants.gpus > 0;
  KnownWork known = config ? find_past_runs(*config, on_gpu) : KnownWork{};
  if (arguments.has("--probe")) {
    if (!config) {
      return fail(ErrorKind::Usage, "--probe trains a few steps of a config, and this is a program",
                  "submit one task first (--test-one): the next submit knows how long it took");
    }
    KnownWork probed = KEDGE_TRY(probe(*config, overrides_for_training(arguments), on_gpu));
    known.estimate = probed.estimate ? probed.estimate : known.estimate;
    known.speeds.insert(known.speeds.begin(), probed.speeds.begin(), probed.speeds.end());
  }
  if (!known.estimate) {
    known.estimate = find_past_jobs(book, spec);
  }
  return known;
}

Result<int> show_advice(const Arguments& arguments, Args command, const jobs::Launcher& launcher,
                        const jobs::JobSpec& spec, const KnownWork& known) {
  jobs::WorkFacts facts{
      .estimate = known.estimate,
      .speeds = known.speeds,
      .input_bytes = size_of_inputs(spec, KEDGE_TRY(config_to_train(arguments, command)))};
  if (auto site = launcher.look_at_site(spec)) {
    facts.site = std::move(*site);
  } else {
    warn("what the site has is not known: {}", site.error().message);
  }
  const auto lines = KEDGE_TRY(jobs::advise(spec, launcher, facts));
  if (arguments.has("--json")) {
    print_json(advice_json(known, lines));
    return kExitDone;
  }
  for (const jobs::Advice& line : lines) {
    fmt::print("{:<6} {}\n", line.about, line.text);
  }
  return kExitDone;
}

}  // namespace kedge::cli
