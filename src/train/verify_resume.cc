#include "train/verify_resume.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <map>
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
        std::string("track.system_every=0"), std::string("track.server="),
        std::string("train.max_time=0"), std::string("job.checkpoint_every=0"),
        std::string("train.simulate_crash=never"), std::string("resume=auto")}) {
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

// Step and value of every point; a clock's curve differs between any two trainings.
Result<std::map<std::string, std::vector<std::pair<std::int64_t, double>>>> read_values(
    const Path& run) {
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> values;
  for (const auto& [key, curve] : KEDGE_TRY(track::read_history(run)).curves) {
    if (!key.ends_with("_seconds")) {
      for (const track::Point& point : curve.points) {
        values[key].emplace_back(point.step, point.value);
      }
    }
  }
  return values;
}

// The number of values compared.
Result<std::size_t> expect_equal_curves(const Path& a, const Path& b) {
  const auto left = KEDGE_TRY(read_values(a));
  const auto right = KEDGE_TRY(read_values(b));
  std::size_t count = 0;
  for (const auto& [key, points] : left) {
    const auto other = right.find(key);
    if (other == right.end() || other->second.size() != points.size()) {
      return fail(ErrorKind::Corrupt, fmt::format("the curve of {} has other points", key));
    }
    // Bit by bit: a NaN is equal to itself, and the two zeros differ.
    const auto [mine, twin] =
        std::ranges::mismatch(points, other->second, [](const auto& x, const auto& y) {
          return x.first == y.first &&
                 std::bit_cast<std::uint64_t>(x.second) == std::bit_cast<std::uint64_t>(y.second);
        });
    if (mine != points.end()) {
      return fail(ErrorKind::Corrupt, fmt::format("the curve of {} differs at step {}: {} and {}",
                                                  key, mine->first, mine->second, twin->second));
    }
    count += points.size();
  }
  if (right.size() != left.size()) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} curves, but {} after going on", left.size(), right.size()));
  }
  return count;
}

// One training without a break, and one that is saved halfway and restored into a fresh process.
Result<void> train_both(const VerifyOptions& options, const Scratch& scratch,
                        const Path& restored) {
  std::vector<std::string> flags = {"--restored-copy", restored.string()};
  for (const std::string& piece : options.dropped) {
    flags.insert(flags.end(), {"--drop", piece});
  }
  say("verify   {} steps without a break", 2 * options.steps);
  KEDGE_TRY(train_to(options, scratch, "straight", 2 * options.steps, {}));
  say("verify   {} steps, saved; {} more in a fresh process", options.steps, options.steps);
  KEDGE_TRY(train_to(options, scratch, "resumed", options.steps, {}));
  return train_to(options, scratch, "resumed", 2 * options.steps, flags);
}

struct Compared {
  std::size_t tensors = 0;
  std::size_t values = 0;
};

Result<Compared> compare_all(std::int64_t half, const Scratch& scratch, const Path& restored) {
  KEDGE_TRY(expect_equal({.what = "two fresh processes",
                          .a = scratch.checkpoint("straight", half),
                          .b = scratch.checkpoint("resumed", half),
                          .hint = "the training itself is not reproducible here, so nothing can "
                                  "be said about resuming: try train.deterministic=true"}));
  KEDGE_TRY(expect_equal({.what = "after restoring",
                          .a = scratch.checkpoint("resumed", half),
                          .b = restored,
                          .hint = {}}));
  Compared compared;
  compared.tensors = KEDGE_TRY(expect_equal({.what = "after going on",
                                             .a = scratch.checkpoint("straight", 2 * half),
                                             .b = scratch.checkpoint("resumed", 2 * half),
                                             .hint = {}}));
  compared.values = KEDGE_TRY(expect_equal_curves(scratch.run("straight"), scratch.run("resumed")));
  return compared;
}

}  // namespace

Result<void> run_verify_resume(const VerifyOptions& options) {
  const Scratch scratch = KEDGE_TRY(Scratch::make());
  const Path restored = scratch.path() / "restored";
  if (const auto trained = train_both(options, scratch, restored); !trained) {
    scratch.remove();
    return trained;
  }
  const auto compared = compare_all(options.steps, scratch, restored);
  if (!compared) {
    say("both trainings are kept in {}", scratch.path().string());
    return std::unexpected(compared.error());
  }
  scratch.remove();
  if (options.as_json) {
    fmt::print("{}\n", nlohmann::json{{"steps", options.steps},
                                      {"identical", true},
                                      {"tensors", compared->tensors},
                                      {"values", compared->values}}
                           .dump());
  }
  say("same     {} tensors, the state and {} logged values are bit-identical after {} steps",
      compared->tensors, compared->values, 2 * options.steps);
  return {};
}

}  // namespace kedge::train
