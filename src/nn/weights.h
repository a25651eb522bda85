// Weights from files into models: safetensors, PyTorch state dicts and kedge checkpoints.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/model_config.h"
#include "core/file.h"
#include "core/result.h"
#include "nn/model.h"

namespace kedge::nn {

// Weights that a training begins with and leaves as they are: named by what saves it, not kept.
struct BaseWeights {
  std::string path;              // absolute
  std::string digest;            // checkpoint::digest_of()
  config::LoraConfig lora = {};  // what is trained beside them: complete_lora()
};

struct WeightsReport {
  std::int64_t loaded = 0;
  std::vector<std::string> new_head;  // left as initialised: of another size, or not in the file
  std::vector<std::string> unused;    // in the file, not in the model
};

// Copies the file's tensors into the model, all or none. Names may differ by a prefix on either
// side ("module.", "model.", "_orig_mod.", "transformer.", "backbone."); a head of another size, or
// absent as a whole, is left new; what WeightNames says of the original's files is taken into
// account; types are converted. Anything else that does not fit is an error that names the tensor
// and both shapes. The file need not hold the tensors of the names in `present`.
Result<WeightsReport> load_weights(Model& model, const Path& file,
                                   const std::set<std::string>& present = {});

// Whether files of the original hold the weight as [in, out].
bool is_transposed_in_files(const Model& model, std::string_view name);

// Of the tensors in the file. Errors as checkpoint::open_tensors().
Result<BaseWeights> name_base(const Path& file);

// All parameters but the adapters'. Usage: there are none.
Result<void> freeze_all_but_adapters(const Model& model);

// Freezes the parameters whose names match any pattern (* and ?); returns how many. A pattern that
// matches nothing is an error.
Result<std::int64_t> freeze(Model& model, const std::vector<std::string>& patterns);

// Freezes every parameter outside head(); returns how many.
std::int64_t freeze_all_but_head(Model& model);

// What the config asks for: weights, finetune, freeze, in this order. finetune without weights is
// an error: a frozen random network learns nothing.
Result<WeightsReport> apply_weights(Model& model, const config::ModelConfig& config);

}  // namespace kedge::nn
