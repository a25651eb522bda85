// A model as Hugging Face keeps it: one safetensors file, or several and an index of them:
// {"weight_map": {tensor: file}, "metadata": {...}}.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/tensor_file.h"
#include "core/file.h"

namespace kedge::checkpoint {
namespace {

constexpr const char* kIndexName = "model.safetensors.index.json";

class JoinedFiles : public TensorFile {
 public:
  const std::vector<TensorView>& tensors() const override { return tensors_; }

  const std::map<std::string, std::string>& metadata() const override { return metadata_; }

  void add(std::unique_ptr<TensorFile> file) {
    tensors_.insert(tensors_.end(), file->tensors().begin(), file->tensors().end());
    metadata_.insert(file->metadata().begin(), file->metadata().end());
    files_.push_back(std::move(file));
  }

 private:
  std::vector<std::unique_ptr<TensorFile>> files_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Names of files, each with the tensors that are in it.
using Shards = std::map<std::string, std::set<std::string>>;

Result<Shards> read_index(const Path& path) {
  const std::string text = KEDGE_TRY(read_file(path));
  const nlohmann::json index = nlohmann::json::parse(text, nullptr, false);
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::Corrupt, fmt::format("{}: {}", path.string(), what),
                "copy or download the file again");
  };
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return bad("it has no weight_map");
  }
  Shards shards;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string() || Path(file.get<std::string>()).filename() != file.get<std::string>()) {
      return bad(fmt::format("the file of tensor '{}' is not a name", tensor));
    }
    shards[file.get<std::string>()].insert(tensor);
  }
  return shards;
}

Result<void> check_shard(const Path& path, const TensorFile& file, std::set<std::string> expected) {
  for (const TensorView& view : file.tensors()) {
    expected.erase(view.name);
  }
  if (!expected.empty()) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} lacks tensor '{}', which {} says is in it", path.string(),
                            *expected.begin(), kIndexName),
                "copy or download the folder again");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<TensorFile>> open_hugging_face_folder(const Path& folder) {
  std::error_code error;
  const Path index = folder / kIndexName;
  if (!std::filesystem::exists(index, error)) {
    if (!std::filesystem::exists(folder / "model.safetensors", error)) {
      return fail(ErrorKind::NotFound,
                  fmt::format("no weights in {}: neither model.safetensors nor {}", folder.string(),
                              kIndexName),
                  "name a folder of Hugging Face's with safetensors, or a kedge checkpoint");
    }
    return open_safetensors(folder / "model.safetensors");
  }
  auto joined = std::make_unique<JoinedFiles>();
  for (const auto& [name, tensors] : KEDGE_TRY(read_index(index))) {
    auto file = KEDGE_TRY(open_safetensors(folder / name));
    KEDGE_TRY(check_shard(folder / name, *file, tensors));
    joined->add(std::move(file));
  }
  return joined;
}

}  // namespace kedge::checkpoint
