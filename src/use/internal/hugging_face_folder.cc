#include "use/internal/hugging_face_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include "checkpoint/gguf.h"
#include "checkpoint/tensor_file.h"
#include "data/chat/chat_format.h"
#include "data/tokenizer/gguf_tokenizer.h"
#include "nn/tensor_view.h"
#include "nn/weights.h"

namespace kedge::use {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostOfShard = 5'000'000'000;  // bytes, as transformers writes them

// What stands beside a model's weights and does not depend on them.
constexpr std::array<const char*, 9> kCompanions = {
    "tokenizer.json",  "tokenizer_config.json", "special_tokens_map.json",
    "vocab.json",      "added_tokens.json",     "merges.txt",
    "tokenizer.model", "chat_template.jinja",   "generation_config.json"};

struct TypeName {
  at::ScalarType type;
  std::string_view name;
  std::string_view short_name;
};

constexpr std::array<TypeName, 3> kTypes = {{{at::kFloat, "float32", "fp32"},
                                             {at::kBFloat16, "bfloat16", "bf16"},
                                             {at::kHalf, "float16", "fp16"}}};

struct Weight {
  std::string name;
  at::Tensor tensor;
  bool is_transposed = false;

  std::int64_t bytes(at::ScalarType type) const {
    return tensor.numel() * static_cast<std::int64_t>(at::elementSize(type));
  }
};

std::vector<Weight> weights_of(const HuggingFaceFolder& folder, const std::string& prefix) {
  std::vector<Weight> weights;
  for (const auto& [name, tensor] : folder.model.parameters()) {
    const bool is_transposed = nn::is_transposed_in_files(folder.model, name) && tensor.dim() == 2;
    weights.push_back({prefix + name, tensor.detach(), is_transposed});
  }
  return weights;
}

Result<void> write_shard(const Path& path, std::span<const Weight> weights, at::ScalarType type) {
  std::vector<at::Tensor> kept;
  std::vector<checkpoint::TensorView> views;
  for (const Weight& weight : weights) {
    const at::Tensor value = weight.is_transposed ? weight.tensor.t() : weight.tensor;
    kept.push_back(value.to(at::kCPU, type).contiguous());
    views.push_back(nn::to_view(weight.name, kept.back()));
  }
  return checkpoint::write_safetensors(path, views, {{"format", "pt"}});
}

// The first weight of each shard, and the end.
std::vector<std::size_t> plan_shards(const std::vector<Weight>& weights, at::ScalarType type) {
  std::vector<std::size_t> begins = {0};
  std::int64_t size = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (size > 0 && size + weights[i].bytes(type) > kMostOfShard) {
      begins.push_back(i);
      size = 0;
    }
    size += weights[i].bytes(type);
  }
  begins.push_back(weights.size());
  return begins;
}

Result<void> write_weights(const Path& folder, const std::vector<Weight>& weights,
                           at::ScalarType type) {
  const std::vector<std::size_t> begins = plan_shards(weights, type);
  const std::size_t shards = begins.size() - 1;
  if (shards == 1) {
    return write_shard(folder / "model.safetensors", weights, type);
  }
  json map = json::object();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < shards; ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards);
    const auto piece = std::span(weights).subspan(begins[i], begins[i + 1] - begins[i]);
    for (const Weight& weight : piece) {
      map[weight.name] = name;
      total += weight.bytes(type);
    }
    KEDGE_TRY(write_shard(folder / name, piece, type));
  }
  const json index = {{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}};
  return write_file_atomic(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

// The original's own words, where it is such a folder: it may say more than kedge asks for.
Result<std::string> config_text(const HuggingFaceFolder& folder, const std::string& own) {
  const Path path = folder.original / "config.json";
  if (!std::filesystem::exists(path)) {
    return own;
  }
  json object = json::parse(KEDGE_TRY(read_file(path)), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return fail(ErrorKind::Corrupt, fmt::format("{} is not a JSON object", path.string()));
  }
  object.erase("quantization_config");
  object[object.contains("dtype") ? "dtype" : "torch_dtype"] = name_of_type(folder.type);
  return object.dump(2);
}

Result<void> copy_companions(const Path& from, const Path& to) {
  for (const char* name : kCompanions) {
    if (std::filesystem::exists(from / name)) {
      KEDGE_TRY(write_file_atomic(to / name, KEDGE_TRY(read_file(from / name))));
    }
  }
  return {};
}

// A .gguf file says in its header what a folder says in files.
Result<void> write_companions(const Path& gguf, const Path& to) {
  const auto file = KEDGE_TRY(checkpoint::open_gguf(gguf));
  const json& facts = file->facts();
  const std::string tokenizer = KEDGE_TRY(data::tokenizer_json_of_gguf(facts, gguf.string()));
  KEDGE_TRY(write_file_atomic(to / "tokenizer.json", tokenizer + "\n"));
  const data::ChatFormat format = KEDGE_TRY(data::load_chat_format(gguf));
  json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  if (!format.bos_token.empty()) {
    config["bos_token"] = format.bos_token;
  }
  if (!format.eos_token.empty()) {
    config["eos_token"] = format.eos_token;
  }
  if (facts.contains("tokenizer.chat_template")) {
    config["chat_template"] = facts["tokenizer.chat_template"];
  }
  return write_file_atomic(to / "tokenizer_config.json", config.dump(2) + "\n");
}

Result<void> write_files(const HuggingFaceFolder& folder, const nn::HuggingFaceLayout& layout,
                         const Path& path) {
  KEDGE_TRY(make_dirs(path));
  const std::string config = KEDGE_TRY(config_text(folder, layout.config_json));
  KEDGE_TRY(write_file_atomic(path / "config.json", config + "\n"));
  if (std::filesystem::is_directory(folder.original)) {
    KEDGE_TRY(copy_companions(folder.original, path));
  } else if (!folder.original.empty()) {
    KEDGE_TRY(write_companions(folder.original, path));
  }
  return write_weights(path, weights_of(folder, layout.prefix), folder.type);
}

}  // namespace

Result<void> write_hugging_face(const HuggingFaceFolder& folder, const Path& output) {
  const auto layout = folder.model.hugging_face_layout(name_of_type(folder.type));
  if (!layout) {
    return fail(ErrorKind::Usage, "transformers has no network like this model's",
                "export its weights instead: name a file that ends in .safetensors");
  }
  std::error_code ignored;
  if (std::filesystem::exists(output) && !std::filesystem::is_empty(output, ignored)) {
    return fail(ErrorKind::Usage, fmt::format("{} is there already", output.string()),
                "name a folder that is not there yet");
  }
  Path beside = output.lexically_normal();
  beside = beside.has_filename() ? beside : beside.parent_path();
  const Path target = beside;
  beside += fmt::format(".tmp-{}", getpid());
  if (auto written = write_files(folder, *layout, beside); !written) {
    std::filesystem::remove_all(beside, ignored);
    return written;
  }
  KEDGE_TRY(sync_dir(beside));
  std::filesystem::remove(target, ignored);  // an empty folder
  std::error_code error;
  std::filesystem::rename(beside, target, error);
  if (error) {
    return std::unexpected(io_error("cannot make", target, error.value()));
  }
  return sync_dir(std::filesystem::absolute(target).parent_path());
}

Result<at::ScalarType> parse_type(std::string_view name) {
  for (const TypeName& row : kTypes) {
    if (name == row.name || name == row.short_name) {
      return row.type;
    }
  }
  return fail(ErrorKind::Usage, fmt::format("'{}' is no type that weights are written in", name),
              "say fp32, bf16 or fp16");
}

std::string_view name_of_type(at::ScalarType type) {
  return std::ranges::find(kTypes, type, &TypeName::type)->name;
}

}  // namespace kedge::use
