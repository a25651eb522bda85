// Weights of linear layers in few bits: model.quantize.
#include "nn/converter.h"
#include "nn/quantized_weight.h"

namespace kedge::nn {
namespace {

class Quantizer : public Converter {
 public:
  explicit Quantizer(const config::ModelConfig& config) : config_(config) {}

  // In place, adapters or not. A head's errors would be in every answer: it keeps its bits.
  std::shared_ptr<Linear> convert(const std::string& name,
                                  const std::shared_ptr<Linear>& linear) override {
    if (name == "lm_head") {
      linear->give_weight_memory();
    } else {
      linear->keep_as(make_quantized_weight(
          config_, linear->weight.sizes(),
          linear->making().has_memory ? linear->making().device : at::Device(at::kMeta)));
    }
    return linear;
  }

 private:
  config::ModelConfig config_;
};

const Converters::Add kAddQuantizer(
    {"quantize", "weights in few bits: model.quantize",
     [](const config::ModelConfig& config) -> Result<std::unique_ptr<Converter>> {
       if (config.quantize == config::Quantize::None) {
         return nullptr;
       }
       return std::make_unique<Quantizer>(config);
     }});

}  // namespace
}  // namespace kedge::nn
