#include "train/verify_resume.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/diff.h"
#include "core/log.h"
#include "core/process.h"
#include "track/history.h"

namespace kedge::train {
namespace {

// Of the state, what may differ between equal trainings: names, clocks, where they ran.
const std::vector<std::string> kIgnored = {"run",    "attempt",       "train_seconds",
                                           "config", "epoch_seconds", "score"};

constexpr std::string_view kProject = "verify-resume";

// The scratch folder of one verification; it stays when something differs, to be looked at.
class Scratch {
 public:
  static Result<Scratch> make() {
    std::string path = (std::filesystem::temp_directory_path() / "kedge-verify-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return std::unexpected(io_error("cannot create folder", path, errno));
    }
    Scratch scratch;
    scratch.path_ = path;
    return scratch;
  }

  const Path& path() const { return path_; }

  Path run(std::string_view id) const { return path_ / kProject / id; }

  Path checkpoint(std::string_view id, std::int64_t step) const {
    return run(id) / "checkpoints" / fmt::format("step-{}", step);
  }

  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  Path path_;
};

// Trains in a process of its own up to a step, saving there.
Result<void> train_to(const VerifyOptions& options, const Scratch& scratch, std::string_view id,
                      std::int64_t step, const std::vector<std::string>& flags) {
  std::vector<std::string> args = {"/proc/self/exe", "verify-resume", "--worker",
                                   std::to_string(step)};
  args.insert(args.end(), flags.begin(), flags.end());
  args.insert(args.end(), options.train_args.begin(), options.train_args.end());
  for (const std::string& value :
       {fmt::format("track.dir={}", scratch.path().string()),
        fmt::format("run.project={}", kProject), fmt::format("run.id={}", id),
        fmt::format("checkpoint.every={} steps", options.steps),
        std::string("checkpoint.enabled=true"), std::string("checkpoint.async=false"),
        std::string("checkpoint.name=step-{step}"), std::string("checkpoint.keep_last=1000"),
        std::string("checkpoint.fast_dir="), std::string("track.csv=metrics.csv"),
        std::string("track.log_file="), std::string("train.log_every=1"),
        std::string("track.system_every=0"), std::string("train.max_time=0"),
        std::string("job.checkpoint_every=0"), std::string("train.simulate_crash=never"),
        std::string("resume=auto")}) {
    args.push_back(value);
  }
  const ProcessResult result = KEDGE_TRY(run_process({.args = std::move(args)}));
  if (result.exit_code == kExitDone) {
    return fail(ErrorKind::Usage,
                fmt::format("the training is over before step {}", 2 * options.steps),
                "verify fewer steps with --steps N");
  }
  if (result.exit_code != kExitRunMeAgain) {
    return fail(result.exit_code == kExitUsage ? ErrorKind::Usage : ErrorKind::Io,
                fmt::format("training to step {} failed (exit code {}):\n{}", step,
                            result.exit_code, result.errors));
  }
  return {};
}

// In the words of `kedge ckpt show`, for the pieces of the state that have a name of their own.
std::string piece_of(const checkpoint::Difference& difference) {
  if (difference.part != "state") {
    return difference.part;
  }
  const std::string top = difference.name.substr(0, difference.name.find_first_of(".["));
  constexpr auto kPosition = std::to_array<std::string_view>(
      {"epoch", "batch", "step", "samples", "epoch_samples", "samples_hash"});
  return std::ranges::find(kPosition, top) != kPosition.end() ? "data position" : top;
}

struct Comparison {
  std::string_view what;
  Path a;
  Path b;
  std::string_view hint;
};

// The number of tensors compared.
Result<std::size_t> expect_equal(const Comparison& comparison) {
  const auto a = KEDGE_TRY(checkpoint::Checkpoint::open(comparison.a));
  const auto b = KEDGE_TRY(checkpoint::Checkpoint::open(comparison.b));
  const auto differences = checkpoint::compare(
      a, b,
      {.ignored = kIgnored,
       .order = {"state", "rng", "loss_scaler", "meters", "optimizer", "model", "ema"}});
  if (!differences.empty()) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{}: {} is not the same; first of {} differences: {}", comparison.what,
                            piece_of(differences.front()), differences.size(),
                            checkpoint::render(differences.front())),
                std::string(comparison.hint));
  }
  std::size_t tensors = 0;
  for (const std::string& part : a.part_names()) {
    tensors += a.part(part).tensors().size();
  }
  return tensors;
}

// The number of values compared.
Result<std::size_t> expect_equal_curves(const Path& a, const Path& b) {
  const track::History left = KEDGE_TRY(track::read_history(a));
  const track::History right = KEDGE_TRY(track::read_history(b));
  std::size_t values = 0;
  for (const auto& [key, curve] : left.curves) {
    if (key == "epoch_seconds") {
      continue;
    }
    const auto other = right.curves.find(key);
    if (other == right.curves.end() || other->second.points.size() != curve.points.size()) {
      return fail(ErrorKind::Corrupt, fmt::format("the curve of {} has other points", key));
    }
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const track::Point& point = curve.points[i];
      const track::Point& twin = other->second.points[i];
      if (point.step != twin.step || point.value != twin.value) {
        return fail(ErrorKind::Corrupt, fmt::format("the curve of {} differs at step {}: {} and {}",
                                                    key, point.step, point.value, twin.value));
      }
      ++values;
    }
  }
  return values;
}

}  // namespace

Result<void> run_verify_resume(const VerifyOptions& options) {
  const Scratch scratch = KEDGE_TRY(Scratch::make());
  const std::int64_t half = options.steps;
  const std::int64_t whole = 2 * options.steps;
  const Path restored = scratch.path() / "restored";
  std::vector<std::string> flags = {"--restored-copy", restored.string()};
  for (const std::string& piece : options.dropped) {
    flags.insert(flags.end(), {"--drop", piece});
  }
  say("verify   {} steps without a break", whole);
  KEDGE_TRY(train_to(options, scratch, "straight", whole, {}));
  say("verify   {} steps, saved; {} more in a fresh process", half, half);
  KEDGE_TRY(train_to(options, scratch, "resumed", half, {}));
  KEDGE_TRY(train_to(options, scratch, "resumed", whole, flags));

  const auto compare = [&]() -> Result<std::pair<std::size_t, std::size_t>> {
    KEDGE_TRY(expect_equal({.what = "two fresh processes",
                            .a = scratch.checkpoint("straight", half),
                            .b = scratch.checkpoint("resumed", half),
                            .hint = "the training itself is not reproducible here, so nothing can "
                                    "be said about resuming: try train.deterministic=true"}));
    KEDGE_TRY(expect_equal({.what = "after restoring",
                            .a = scratch.checkpoint("resumed", half),
                            .b = restored,
                            .hint = {}}));
    const std::size_t tensors = KEDGE_TRY(expect_equal({.what = "after going on",
                                                        .a = scratch.checkpoint("straight", whole),
                                                        .b = scratch.checkpoint("resumed", whole),
                                                        .hint = {}}));
    const std::size_t values =
        KEDGE_TRY(expect_equal_curves(scratch.run("straight"), scratch.run("resumed")));
    return std::pair(tensors, values);
  };
  const auto compared = compare();
  if (!compared) {
    say("both trainings are kept in {}", scratch.path().string());
    return std::unexpected(compared.error());
  }
  scratch.remove();
  if (options.as_json) {
    fmt::print("{}\n", nlohmann::json{{"steps", half},
                                      {"identical", true},
                                      {"tensors", compared->first},
                                      {"values", compared->second}}
                           .dump());
  }
  say("same     {} tensors, the state and {} logged values are bit-identical after {} steps",
      compared->first, compared->second, whole);
  return {};
}

}  // namespace kedge::train
