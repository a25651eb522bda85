#include "config/validate.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/interval.h"
#include "config/plugin_names.h"

namespace kedge::config {
namespace {

// More than any machine has cores for: starting them would end the machine, not the training.
constexpr std::int64_t kMostRanks = 1024;
constexpr std::int64_t kMostWorkers = 1024;

class Rules {
 public:
  explicit Rules(const LoadedConfig& config) : config_(config) {}

  // When `is_wrong`, complains at the place where `path` was set.
  void refuse(bool is_wrong, std::string_view path, std::string_view why) {
    if (is_wrong) {
      const Field* field = config_.find(path);
      KEDGE_CHECK(field != nullptr, "a rule names a field");
      problems_.push_back(fmt::format("{}: {}: {}", field->origin, path, why));
    }
  }

  // When `parsed` is an error, complains with its words.
  template <typename T>
  void check(const Result<T>& parsed, std::string_view path) {
    refuse(!parsed, path, parsed ? "" : parsed.error().message);
  }

  Result<void> result() const {
    if (problems_.empty()) {
      return {};
    }
    return fail(ErrorKind::Usage, fmt::format("{}", fmt::join(problems_, "\n")));
  }

 private:
  const LoadedConfig& config_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<void> validate(const LoadedConfig& loaded) {
  const Config& c = *loaded;
  Rules rules(loaded);
  rules.refuse(c.data.val_ratio && c.data.val_count, "data.val_count",
               "give val_ratio or val_count, not both");
  rules.refuse(c.data.val_ratio && *c.data.val_ratio >= 1, "data.val_ratio",
               "nothing would be left to train on");
  rules.refuse(!c.data.mix.empty() && !c.data.path.empty(), "data.mix",
               "give data.mix or data.path, not both");
  for (const auto& [name, weight] : c.data.mix) {
    rules.refuse(weight <= 0, "data.mix", fmt::format("the weight of '{}' must be above 0", name));
  }
  rules.refuse(c.transform.mean.size() != c.transform.std.size(),
               c.transform.std.empty() ? "transform.mean" : "transform.std",
               "mean and std must have one value per channel each");
  rules.refuse(c.model.finetune && c.model.weights.empty() && c.model.file.empty(),
               "model.finetune",
               "needs weights to start from: put a .safetensors or .pt/.pth file somewhere and "
               "name it as model.weights");
  rules.refuse(c.model.finetune && !c.model.freeze.empty(), "model.freeze",
               "finetune already freezes all but the head; give one of the two");
  rules.refuse(c.optimizer.nesterov && c.optimizer.momentum == 0, "optimizer.nesterov",
               "needs optimizer.momentum above 0");
  rules.refuse(c.ema.decay >= 1, "ema.decay", "must be below 1, or the average never moves");
  rules.refuse(c.train.mixup > 0 && c.loss.name == "nll", "train.mixup",
               "makes soft targets, which nll cannot take: use cross_entropy or mse");
  const bool is_taught = !c.distill.teacher.empty() || !c.distill.scores.empty();
  const char* const taught_by = c.distill.scores.empty() ? "distill.teacher" : "distill.scores";
  rules.refuse(is_taught && c.train.mixup > 0, taught_by,
               "has no scores for images that are mixed: leave train.mixup out");
  rules.refuse(is_taught && c.data.name == "preference", taught_by,
               "is for classes and tokens, not for pairs of answers");
  rules.refuse(c.loss.name == "dpo" && c.data.name != "preference", "loss.name",
               "dpo judges pairs of answers: it needs data.name=preference");
  rules.refuse(c.data.name == "preference" && c.loss.name != "dpo", "data.name",
               "preference data are pairs of answers: they need loss.name=dpo");
  rules.check(parse_save_interval(c.checkpoint.every), "checkpoint.every");
  rules.check(parse_keep_interval(c.checkpoint.keep_every), "checkpoint.keep_every");
  rules.refuse(c.checkpoint.link_frozen && !c.model.finetune && c.model.freeze.empty() &&
                   !c.model.lora.is_on(),
               "checkpoint.link_frozen",
               "no weights are frozen: give model.freeze or model.finetune");
  rules.refuse(c.train.recompute && (c.model.dropout.value_or(0) > 0 || c.model.lora.dropout > 0),
               "train.recompute",
               "cannot be with dropout: other values would be left out the second time");
  rules.refuse(c.model.lora.is_on() && (c.model.finetune || !c.model.freeze.empty()), "model.lora",
               "already freezes the model's own weights; leave finetune and freeze out");
  rules.refuse(!c.model.double_quant && c.model.quantize != Quantize::Nf4, "model.double_quant",
               "is of model.quantize=nf4 only");
  rules.check(parse_crash(c.train.simulate_crash), "train.simulate_crash");
  rules.refuse(c.train.precision == Precision::Fp16 && c.train.device == DeviceChoice::Cpu,
               "train.precision", "fp16 needs a GPU; use bf16 or fp32 on cpu");
  rules.refuse(c.dist.ranks > kMostRanks, "dist.ranks",
               fmt::format("{} processes on one machine are too many: at most {}", c.dist.ranks,
                           kMostRanks));
  rules.refuse(c.loader.workers > kMostWorkers, "loader.workers",
               fmt::format("{} threads are too many: at most {}", c.loader.workers, kMostWorkers));
  rules.refuse(c.dist.min_nodes > c.dist.nodes, "dist.min_nodes", "is more than dist.nodes");
  rules.refuse(c.dist.lr_warmup > 0 && c.schedule.warmup > 0, "dist.lr_warmup",
               "schedule.warmup already warms up; give one of the two");
  rules.refuse(c.dist.sync_batchnorm && c.data.on_error == OnError::Skip, "dist.sync_batchnorm",
               "cannot be with data.on_error: skip: a rank may be left without a sample");
  const auto replicas = parse_save_interval(c.dist.replicas);
  rules.check(replicas, "dist.replicas");
  rules.refuse(replicas && replicas->epochs > 0, "dist.replicas",
               "counts steps or time: an epoch's end is what checkpoints are for");
  rules.refuse(c.dist.bucket.value == 0, "dist.bucket", "must be above 0");
  rules.check(check_plugin_name("job.scheduler", c.job.scheduler), "job.scheduler");
  return rules.result();
}

}  // namespace kedge::config
