#include "nn/pretrained.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/gguf.h"

namespace kedge::nn {

bool is_pretrained(const Path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path / "config.json", ignored) ||
         (std::filesystem::is_regular_file(path, ignored) && checkpoint::is_gguf(path));
}

bool has_weights(const Path& path) {
  std::error_code ignored;
  return !std::filesystem::is_directory(path, ignored) ||
         std::filesystem::exists(path / "model.safetensors", ignored) ||
         std::filesystem::exists(path / "model.safetensors.index.json", ignored);
}

Result<PretrainedShape> read_pretrained(const Path& path) {
  if (!std::filesystem::is_directory(path)) {
    const auto file = KEDGE_TRY(checkpoint::open_gguf(path));
    LlamaShape shape = KEDGE_TRY(read_llama_gguf(file->facts(), path.string()));
    shape.is_tied = true;
    for (const checkpoint::TensorView& view : file->tensors()) {
      shape.is_tied = shape.is_tied && view.name != "lm_head.weight";
    }
    return shape;
  }
  const Path file = path / "config.json";
  const std::string text = KEDGE_TRY(read_file(file));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return fail(ErrorKind::Corrupt, fmt::format("{} is not JSON", file.string()),
                "copy or download the folder again");
  }
  if (json.is_object() && json.value("model_type", nlohmann::json()) == "bert") {
    return KEDGE_TRY(read_bert_config(json, file.string()));
  }
  return KEDGE_TRY(read_llama_config(json, file.string()));
}

Result<LlamaShape> read_pretrained_shape(const Path& path) {
  const PretrainedShape shape = KEDGE_TRY(read_pretrained(path));
  if (const auto* llama = std::get_if<LlamaShape>(&shape)) {
    return *llama;
  }
  return fail(
      ErrorKind::Usage,
      fmt::format("{} is a BERT: it tells classes of texts apart and says nothing", path.string()),
      "kedge predict and kedge eval use the runs that were trained from it");
}

Result<std::optional<std::int64_t>> find_vocab(const config::ModelConfig& config) {
  if (config.file.empty() || !is_pretrained(config.file)) {
    return config.vocab;
  }
  const std::int64_t vocab = std::visit([](const auto& shape) { return shape.vocab; },
                                        KEDGE_TRY(read_pretrained(config.file)));
  if (config.vocab && *config.vocab != vocab) {
    return fail(
        ErrorKind::Usage,
        fmt::format("model.vocab is {}, but {} has {} tokens", *config.vocab, config.file, vocab),
        "leave model.vocab out");
  }
  return vocab;
}

}  // namespace kedge::nn
