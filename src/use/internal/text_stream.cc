#include "use/internal/text_stream.h"

#include <algorithm>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "device/plugin.h"
#include "device/precision.h"

namespace kedge::use {
namespace {

constexpr std::int64_t kRoomStep = 256;  // caches of few sizes: a captured step belongs to one
constexpr std::int64_t kPrefillTokens = 2048;  // of each text at once

// The texts' tokens so far, on the host; and the next ones, on the device.
class Stream {
 public:
  Stream(const LanguageModel& model, const std::vector<std::vector<std::int64_t>>& texts,
         const StreamOptions& options)
      : model_(model),
        texts_(texts),
        options_(options),
        batch_(static_cast<std::int64_t>(texts.size())),
        ids_(at::TensorOptions(at::kLong).device(model.context->device)),
        generator_(at::globalContext().defaultGenerator(model.context->device)) {
    generator_.set_current_seed(options.seed);
    for (const auto& text : texts) {
      longest_ = std::max(longest_, static_cast<std::int64_t>(text.size()));
    }
    const std::int64_t room =
        (longest_ + options.max_tokens + kRoomStep - 1) / kRoomStep * kRoomStep;
    cache_ = model.decoder->make_cache(batch_, room);
    one_each_ = torch::ones({batch_}, ids_);
    next_ = torch::zeros({batch_, 1}, ids_);
    if (options.sampling.repetition_penalty != 1) {
      seen_ = torch::zeros({batch_, model.vocab}, ids_.dtype(at::kBool));
    }
  }

  // The texts go in, in stretches that fit the memory; the first new tokens are in next().
  void read_texts() {
    std::vector<at::Tensor> counts;
    at::Tensor scores;
    for (std::int64_t from = 0; from < longest_; from += kPrefillTokens) {
      const std::int64_t length = std::min(kPrefillTokens, longest_ - from);
      at::Tensor tokens = torch::zeros({batch_, length}, at::kLong);
      at::Tensor counted = torch::zeros({batch_}, at::kLong);
      for (std::int64_t row = 0; row < batch_; ++row) {
        const auto& text = texts_[static_cast<std::size_t>(row)];
        const std::int64_t left = std::clamp<std::int64_t>(std::ssize(text) - from, 0, length);
        counted[row] = left;
        std::copy_n(text.begin() + std::min<std::int64_t>(from, std::ssize(text)), left,
                    tokens[row].data_ptr<std::int64_t>());
      }
      see(tokens.to(ids_.device()), counted.to(ids_.device()));
      const at::Tensor counts_B = counted.to(ids_.device());
      const at::Tensor now =
          model_.decoder->decode(tokens.to(ids_.device()), counts_B.clamp_min(0), cache_);
      const at::Tensor is_last_B1 = counts_B.gt(0).unsqueeze(1);
      scores = scores.defined() ? torch::where(is_last_B1, now, scores) : now;
    }
    choose(scores);
  }

  // Computes the tokens after next(), which take its place.
  at::Tensor step() {
    see(next_, one_each_);
    choose(model_.decoder->decode(next_, one_each_, cache_));
    return next_;
  }

  const at::Tensor& next() const { return next_; }

 private:
  void choose(const at::Tensor& scores) {
    next_.copy_(sample(scores, options_.sampling, seen_, generator_).unsqueeze(1));
  }

  void see(const at::Tensor& tokens_BT, const at::Tensor& counts_B) {
    if (seen_.defined()) {
      const at::Tensor is_there =
          torch::arange(tokens_BT.size(1), ids_).unsqueeze(0).lt(counts_B.unsqueeze(1));
      // Padding repeats the first token of its row, which is there anyway.
      const at::Tensor named = torch::where(is_there, tokens_BT, tokens_BT.narrow(1, 0, 1));
      seen_.scatter_(1, named, counts_B.gt(0).unsqueeze(1).expand_as(named).clone());
    }
  }

  const LanguageModel& model_;
  const std::vector<std::vector<std::int64_t>>& texts_;
  const StreamOptions& options_;
  std::int64_t batch_;
  at::TensorOptions ids_;
  at::Generator generator_;
  std::int64_t longest_ = 0;
  nn::KvCache cache_;
  at::Tensor one_each_;
  at::Tensor next_;
  at::Tensor seen_;
};

Result<void> check_lengths(const LanguageModel& model,
                           const std::vector<std::vector<std::int64_t>>& texts,
                           const StreamOptions& options) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto length = std::ssize(texts[i]);
    if (length == 0) {
      return fail(ErrorKind::Usage, fmt::format("prompt {} is empty", i + 1),
                  "give it at least one character, or the token that begins a text");
    }
    if (length + options.max_tokens > model.decoder->longest()) {
      return fail(ErrorKind::Usage,
                  fmt::format("prompt {} has {} tokens, and {} more are asked for: the model takes "
                              "{} together",
                              i + 1, length, options.max_tokens, model.decoder->longest()),
                  "shorten it, or lower --max-tokens");
    }
  }
  return {};
}

}  // namespace

Result<void> continue_texts(const LanguageModel& model,
                            const std::vector<std::vector<std::int64_t>>& texts,
                            const StreamOptions& options, const OnToken& on_token) {
  KEDGE_TRY(check_lengths(model, texts, options));
  const torch::NoGradGuard no_grad;
  const device::Autocast autocast(*model.context);
  Stream stream(model, texts, options);
  device::StepGraphs graphs(model.context->device.is_cuda() ? device::plugin() : nullptr, "tokens");
  stream.read_texts();
  std::vector<bool> is_done(texts.size(), false);
  std::size_t left = texts.size();
  for (std::int64_t made = 0; made < options.max_tokens && left > 0; ++made) {
    // The device goes on while the host looks at what it made before.
    const at::Tensor made_B =
        stream.next().select(1, 0).to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
    if (made + 1 < options.max_tokens) {
      graphs.run({}, [&] { return stream.step(); }, [] {});
    }
    const auto* ids = made_B.const_data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (is_done[i]) {
        continue;
      }
      const bool is_end = options.ends && std::ranges::count(model.end_ids, ids[i]) > 0;
      if (is_end || on_token(i, ids[i]) == Wish::Enough) {
        is_done[i] = true;
        --left;
      }
    }
  }
  return {};
}

}  // namespace kedge::use
