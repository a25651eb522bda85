// A Converter changes a model's layers after the model is made and before its weights are loaded:
// adapters beside the weights, quantised weights, weights that are split over ranks. The layers it
// puts in keep the names of their tensors, so that the same files load.
#pragma once

#include <memory>
#include <string>

#include "config/model_config.h"
#include "core/registry.h"
#include "nn/layers.h"

namespace kedge::nn {

class Converter {
 public:
  virtual ~Converter() = default;

  // What takes the place of the Linear of this name ("h.0.attn.c_attn"); `linear` itself: nothing.
  // Called once for each, in the order of parameters, before any weight has been loaded and, on the
  // meta device, before there is memory. What it keeps of `linear` it shares with the model.
  virtual std::shared_ptr<Linear> convert(const std::string& name,
                                          const std::shared_ptr<Linear>& linear) = 0;
};

// A converter is one file, registered by name. Each is made for every model, in
// the order of their names, the later ones on what the earlier left; one that the config does not
// ask for answers null. An error of one is the model's.
using Converters = Registry<Converter, config::ModelConfig>;

}  // namespace kedge::nn
