// Every rank has the whole model and reads its own samples; gradients are all-reduced. What
// torch.nn.parallel.DistributedDataParallel does.
#include <optional>

#include "parallel/replicated/data_parallel.h"
#include "parallel/strategy.h"

namespace kedge::parallel {
namespace {

class Replicated : public Strategy {
 public:
  explicit Replicated(const Parts& parts) : world_(parts.world), model_(parts.model) {
    if (!world_.is_alone()) {
      gradients_.emplace(
          world_, nn::trainable_parameters(model_),
          DataParallelOptions{.bucket_bytes = parts.config.bucket.value,
                              .is_bf16 = parts.config.compression == config::Compression::Bf16});
    }
  }

  dist::ProcessGroup& data_group() override { return world_; }

  at::Tensor forward(const nn::ModelInput& input) override { return model_.forward(input); }

  bool ends_in_linear() const override { return model_.ends_in_linear(); }

  nn::Head forward_to_head(const nn::ModelInput& input) override {
    return model_.forward_to_head(input);
  }

  void start_backward() override {
    if (gradients_) {
      gradients_->start();
    }
  }

  void finish_backward() override {
    if (gradients_) {
      gradients_->finish();
    }
  }

  void drop_backward() override {
    if (gradients_) {
      gradients_->reset();
    }
  }

  // Every rank holds all gradients, and the same ones.
  at::Tensor global_norm(const at::Tensor& own_norm) override { return own_norm; }

  void agree_on_overflow(const at::Tensor& /*found_inf*/) override {}

  void broadcast_buffers() override {
    if (world_.is_alone()) {
      return;
    }
    for (auto& [name, buffer] : model_.buffers()) {
      world_.broadcast(buffer);
    }
  }

  std::optional<std::string> why_not_captured(std::int64_t micro_batches) const override {
    if (!world_.is_alone() && !world_.can_capture()) {
      return "the ranks' gradients are all-reduced between its pieces";
    }
    if (!world_.is_alone() && micro_batches > 1) {
      return "with many ranks, a step of several batches is not one piece of work";
    }
    return std::nullopt;
  }

 private:
  dist::ProcessGroup& world_;
  nn::Model& model_;
  std::optional<DataParallel> gradients_;  // with many ranks
};

const Strategies::Add kAddReplicated({"replicated",
                                      "every rank has the whole model; gradients are all-reduced",
                                      [](const Parts& parts) -> Result<std::unique_ptr<Strategy>> {
                                        return std::make_unique<Replicated>(parts);
                                      }});

}  // namespace
}  // namespace kedge::parallel
