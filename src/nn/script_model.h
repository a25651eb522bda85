// A ScriptModel is any nn.Module from Python, saved with torch.jit.save, as a Model.
#pragma once

#include <memory>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "nn/model.h"

namespace torch::jit {
struct Module;
}

namespace kedge::nn {

class ScriptModel : public Model {
 public:
  explicit ScriptModel(const torch::jit::Module& module);
  ~ScriptModel() override;

  at::Tensor forward(const ModelInput& input) override;
  NamedTensors parameters() const override;
  NamedTensors buffers() const override;
  void set_training(bool is_training) override;
  void to(at::Device device) override;
  void to(at::ScalarType type) override;

  // The head is the module that holds the last parameter: what Python registers last is the output
  // layer. Tables are known by the names that they commonly have.
  const WeightNames& names() const override { return names_; }

  torch::jit::Module& module() { return *module_; }

 private:
  WeightNames names_;
  std::unique_ptr<torch::jit::Module> module_;  // behind a pointer to keep its header out
};

// Reads the file and tries it once on zeros: what does not give the signature's scores is refused,
// not in the first training step.
Result<std::unique_ptr<Model>> load_script_model(const Path& file, const Signature& signature);

// For who is going to train it: where the model is a module that torch.jit.trace has fixed to the
// ways of evaluation, a warning that names them.
void warn_if_traced_in_eval(Model& model, const Path& file);

}  // namespace kedge::nn
