// The sections of the algorithm: loop, optimizer, schedule, loss, weight average.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"

namespace kedge::config {

enum class Precision : std::uint8_t { Auto, Fp32, Bf16, Fp16, Bf16Pure, Fp64 };

constexpr std::array<std::string_view, 6> enum_names(Precision) {
  return {"auto", "fp32", "bf16", "fp16", "bf16-pure", "fp64"};
}

enum class DeviceChoice : std::uint8_t { Auto, Cuda, Cpu };

constexpr std::array<std::string_view, 3> enum_names(DeviceChoice) {
  return {"auto", "cuda", "cpu"};
}

enum class AttentionKernel : std::uint8_t { Auto, Flash, Cudnn, Efficient, Math };

constexpr std::array<std::string_view, 5> enum_names(AttentionKernel) {
  return {"auto", "flash", "cudnn", "efficient", "math"};
}

struct TrainConfig {
  std::int64_t epochs = 10;
  std::int64_t max_steps = 0;
  Seconds max_time = {0};
  DeviceChoice device = DeviceChoice::Auto;
  Precision precision = Precision::Fp32;
  std::int64_t accumulate = 1;
  double clip_norm = 0;
  double mixup = 0;
  bool channels_last = true;
  bool deterministic = false;
  bool tf32 = true;
  bool graph = true;
  bool fused = true;
  AttentionKernel attention = AttentionKernel::Auto;
  bool recompute = false;
  std::int64_t threads = 0;
  std::int64_t log_every = 50;
  std::int64_t eval_every = 1;
  std::int64_t eval_steps = 0;
  bool stop_on_nan = true;
  std::string simulate_crash = "never";

  void describe(Section& s) {
    s.field("epochs", epochs, "passes over the training data", at_least(1), Alias{"num_epochs"},
            Alias{"epochs"});
    s.field("max_steps", max_steps, "stop after so many optimizer steps; 0: no limit", at_least(0));
    s.field("max_time", max_time,
            "save, stop and ask to be run again (exit 85) after this long; 0: no limit of our own, "
            "only that of the Slurm or HTCondor job",
            InHash::Never);
    s.field("device", device, "where to train; auto: cuda if there is one, else cpu");
    s.field("precision", precision,
            "fp32, bf16 or fp16 autocast, bf16-pure (weights too), fp64 (all in double, to compare "
            "numbers), or auto: bf16 where the device supports it, fp16 on older GPUs, fp32 on "
            "cpu",
            Alias{"mixed_precision"}, Means{"none", "fp32"});
    s.field("accumulate", accumulate, "batches whose gradients make one optimizer step",
            at_least(1), Fixed{"the place in the epoch is counted in whole steps"});
    s.field("clip_norm", clip_norm, "largest gradient norm; 0: no clipping", at_least(0));
    s.field("mixup", mixup, "mix pairs of images with Beta(a, a) weights, soft targets; 0: off",
            at_least(0));
    s.field("channels_last", channels_last, "NHWC memory layout for images");
    s.field("deterministic", deterministic, "only algorithms whose result never varies");
    s.field("tf32", tf32, "TF32 matrix products on GPUs that have them");
    s.field("graph", graph, "on a GPU, capture each step as one CUDA graph and replay it");
    s.field("fused", fused, "on a GPU, use kernels of our own where several operations fit in one");
    s.field("attention", attention,
            "on a GPU, which of libtorch's attention kernels is asked first; auto: cudnn on "
            "Hopper, flash elsewhere",
            InHash::UnlessDefault);
    s.field("recompute", recompute,
            "keep only what goes from block to block of the model and compute the rest again in "
            "the backward pass: less memory for about a third more time",
            InHash::UnlessDefault);
    s.field("threads", threads, "compute threads on the cpu; 0: all cores", at_least(0));
    s.field("log_every", log_every, "steps between logged values of the training loss",
            at_least(1));
    s.field("eval_every", eval_every, "epochs between validations; 0: only after the last",
            at_least(0));
    s.field("eval_steps", eval_steps,
            "steps between validations, beside those after epochs; 0: only after epochs",
            at_least(0), InHash::UnlessDefault);
    s.field("stop_on_nan", stop_on_nan, "stop when the loss is NaN or infinite, naming the tensor");
    s.field("simulate_crash", simulate_crash,
            "to try resuming: `epoch 3` ends the process as that epoch begins, `random` at one of "
            "the epochs 3 to 8, `step 120` kills it (SIGKILL) after that step; never: no crash. A "
            "run that was resumed beyond the point goes on",
            InHash::Never, Alias{"simulate_crash"}, Means{"true", "random"},
            Means{"false", "never"});
  }
};

enum class DecayScope : std::uint8_t { All, Matrices };

constexpr std::array<std::string_view, 2> enum_names(DecayScope) {
  return {"all", "matrices"};
}

enum class MuonRest : std::uint8_t { AdamW, Sgd };

constexpr std::array<std::string_view, 2> enum_names(MuonRest) {
  return {"adamw", "sgd"};
}

struct OptimizerConfig {
  std::string name = "adamw";
  double lr = 1e-3;
  double weight_decay = 0;
  DecayScope decay = DecayScope::All;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double alpha = 0.99;
  MuonRest rest = MuonRest::AdamW;
  double rest_lr = 0;
  double rest_momentum = 0.9;
  bool keep_norm = false;
  std::int64_t iterations = 5;

  void describe(Section& s) {
    s.field("name", name, "which optimizer: `kedge list optimizers`",
            Fixed{"the saved state is another optimizer's"});
    s.field("lr", lr, "learning rate (the schedule's peak)", at_least(0), Alias{"learning_rate"});
    s.field("weight_decay", weight_decay, "weight decay, in the optimizer's own sense",
            at_least(0));
    s.field("decay", decay, "which parameters decay: all, or matrices (no biases, no norms)",
            Fixed{"the saved state is of other parameter groups"});
    s.field("momentum", momentum, "sgd, rmsprop, muon: momentum", between(0, 1));
    s.field("nesterov", nesterov, "sgd: Nesterov momentum");
    s.field("beta1", beta1, "adam, adamw, adamw8bit, lion: decay of the first moment",
            between(0, 1));
    s.field("beta2", beta2, "adam, adamw, adamw8bit, lion: decay of the second moment",
            between(0, 1));
    s.field("eps", eps, "adam, adamw, adamw8bit, rmsprop, adagrad: added to the denominator",
            at_least(0));
    s.field("alpha", alpha, "rmsprop: smoothing constant", between(0, 1));
    s.field("rest", rest, "muon: what updates the rest, which is vectors, embeddings and the head");
    s.field("rest_lr", rest_lr, "muon: learning rate of the rest; 0: lr", at_least(0));
    s.field("rest_momentum", rest_momentum, "muon: Nesterov momentum of the rest under sgd",
            between(0, 1));
    s.field("keep_norm", keep_norm,
            "muon: hidden matrices are brought to the norm sqrt(rows) before each update, which "
            "is then lr times an orthogonal one; they do not decay");
    s.field("iterations", iterations, "muon: rounds that make an update orthogonal", at_least(1));
  }
};

enum class ScheduleUnit : std::uint8_t { Epoch, Step };

constexpr std::array<std::string_view, 2> enum_names(ScheduleUnit) {
  return {"epoch", "step"};
}

enum class DecayShape : std::uint8_t { Linear, Cosine, Sqrt };

constexpr std::array<std::string_view, 3> enum_names(DecayShape) {
  return {"linear", "cosine", "sqrt"};
}

struct ScheduleConfig {
  std::string name = "none";
  ScheduleUnit unit = ScheduleUnit::Step;
  std::int64_t warmup = 0;
  double warmup_start = 0;
  std::int64_t length = 0;
  double floor = 0;
  double decay = 0.2;
  DecayShape decay_shape = DecayShape::Linear;
  std::int64_t step_size = 10;
  std::vector<std::int64_t> milestones = {};
  double gamma = 0.1;
  double pct_start = 0.3;
  double div_factor = 25;
  double final_div_factor = 1e4;
  std::string metric = "val/loss";
  std::int64_t patience = 10;

  void describe(Section& s) {
    s.field("name", name, "how the learning rate moves: `kedge list schedules`",
            Alias{"scheduler"});
    s.field("unit", unit, "whether lengths below count optimizer steps or epochs");
    s.field("warmup", warmup, "units of linear warm-up before the schedule begins", at_least(0));
    s.field("warmup_start", warmup_start, "warm-up begins at this fraction of lr", between(0, 1));
    s.field("length", length,
            "cosine, linear, one_cycle, wsd: units to the end; 0: the whole training", at_least(0));
    s.field("floor", floor, "cosine, linear, plateau, wsd: smallest fraction of lr", between(0, 1));
    s.field("decay", decay, "wsd: the fraction of the length in which the rate falls, its last",
            between(0, 1), InHash::UnlessDefault);
    s.field("decay_shape", decay_shape, "wsd: how it falls", InHash::UnlessDefault);
    s.field("step_size", step_size, "step: units between drops", at_least(1));
    s.field("milestones", milestones, "multi_step: the units at which it drops");
    s.field("gamma", gamma, "step, multi_step, exponential, plateau: factor of each drop",
            between(0, 1));
    s.field("pct_start", pct_start, "one_cycle: fraction of the length spent rising",
            between(0, 1));
    s.field("div_factor", div_factor, "one_cycle: lr / this is the start", above(0));
    s.field("final_div_factor", final_div_factor, "one_cycle: start / this is the end", above(0));
    s.field("metric", metric, "plateau: the metric that must improve");
    s.field("patience", patience, "plateau: epochs without improvement before a drop", at_least(0));
  }
};

struct LossConfig {
  std::string name = "cross_entropy";
  double label_smoothing = 0;
  double z_loss = 0;
  double beta = 0.1;
  std::optional<double> router_aux = {};

  void describe(Section& s) {
    s.field("name", name, "what is minimised: `kedge list losses`");
    s.field("label_smoothing", label_smoothing,
            "cross_entropy: fraction of the target given to all; dpo: of the pairs that are taken "
            "to be the wrong way round",
            between(0, 1));
    s.field("z_loss", z_loss,
            "cross_entropy: this times the square of log(sum(exp(scores))) is added, which keeps "
            "scores near zero (PaLM used 1e-4)",
            at_least(0), InHash::UnlessDefault);
    s.field("beta", beta, "dpo: how strongly the model is held to what it was before", above(0),
            InHash::UnlessDefault);
    s.field("router_aux", router_aux,
            "models with experts: this times the imbalance of their use is added to the loss "
            "(router_aux_loss_coef); empty: the model's own",
            at_least(0), InHash::UnlessDefault);
  }
};

// Hinton et al. 2015: (1 - weight) loss + weight temperature^2 KL(teacher's scores, the model's),
// both scores divided by the temperature.
struct DistillConfig {
  std::string teacher = "";
  std::string scores = "";
  double weight = 0.5;
  double temperature = 2;

  void describe(Section& s) {
    s.every_field(InHash::UnlessDefault);
    s.field("teacher", teacher,
            "learn from this trained model's scores too: a run, a checkpoint, a folder of Hugging "
            "Face's, a .gguf or TorchScript file; empty: no teacher");
    s.field("scores", scores,
            "learn from the scores that `kedge score` wrote to this folder, instead of asking a "
            "teacher in every step",
            kMayChange);  // the folder may move: what is in it names its data
    s.field("weight", weight, "the share of the loss that is the distance to the teacher's scores",
            between(0, 1));
    s.field("temperature", temperature, "how much the scores of both are softened", above(0));
  }
};

struct EmaConfig {
  double decay = 0;
  bool warmup = true;

  void describe(Section& s) {
    s.field("decay", decay,
            "keep an exponential average of the weights, and validate with it; 0: off",
            between(0, 1));
    s.field("warmup", warmup,
            "begin with a smaller decay, (1 + step) / (10 + step), so that the average soon "
            "forgets the untrained weights");
  }
};

}  // namespace kedge::config
