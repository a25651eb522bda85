// A Decoder for models that have no cache: each step computes the whole text anew.
#pragma once

#include "nn/decoder.h"
#include "nn/model.h"

namespace kedge::use {

class RecomputingDecoder : public nn::Decoder {
 public:
  // `context`: tokens that the model takes; of longer texts the last so many.
  RecomputingDecoder(nn::Model& model, std::int64_t context) : model_(model), context_(context) {}

  nn::KvCache make_cache(std::int64_t batch, std::int64_t room) const override;
  at::Tensor decode(const at::Tensor& tokens_BT, const at::Tensor& counts_B,
                    nn::KvCache& cache) override;

  std::int64_t longest() const override { return context_; }

 private:
  nn::Model& model_;
  std::int64_t context_;
};

}  // namespace kedge::use
