#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/data_config.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/decode.h"
#include "data/internal/image_files.h"
#include "data/internal/missing.h"

namespace kedge::data {
namespace {

// Folders up to this size are hashed whole when opened; of larger ones only names and file sizes,
// since reading everything first would hold up the start of training.
constexpr std::uint64_t kMaxHashedBytes = std::uint64_t{512} << 20U;

Result<std::string> digest_files(const ImageFiles& files) {
  Digest digest;
  std::uint64_t total = 0;
  for (const ImageFile& file : files.files) {
    const std::uint64_t size = KEDGE_TRY(size_of_file(files.root / file.name));
    total += size;
    digest.add(fmt::format("{} {} {}\n", file.name, file.label, size));
  }
  if (total <= kMaxHashedBytes) {
    for (const ImageFile& file : files.files) {
      const MappedFile content = KEDGE_TRY(MappedFile::open(files.root / file.name));
      digest.add(content.bytes());
    }
  }
  return digest.text();
}

class ImageFolder : public Dataset {
 public:
  ImageFolder(ImageFiles files, std::vector<std::string> class_names, std::string digest)
      : files_(std::move(files)), known_(files_.files.size()), digest_(std::move(digest)) {
    info_.fields = image_fields({.channels = 3});
    info_.class_names = std::move(class_names);
    info_.mean = {0.485, 0.456, 0.406};  // ImageNet's, which pretrained models expect
    info_.std = {0.229, 0.224, 0.225};
  }

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.files.size()); }

  std::int64_t label(std::int64_t index) const override { return file(index).label; }

  std::string name(std::int64_t index) const override { return file(index).name; }

  Result<void> read(std::int64_t index, Sample& sample) const override {
    const Path path = files_.root / file(index).name;
    const std::string bytes = KEDGE_TRY(read_file(path));
    return decode_again(as_bytes(bytes), path.string(), known_[static_cast<std::size_t>(index)],
                        sample);
  }

  std::string digest() const override { return digest_; }

 private:
  const ImageFile& file(std::int64_t index) const {
    return files_.files[static_cast<std::size_t>(index)];
  }

  ImageFiles files_;
  mutable std::vector<Known> known_;  // by file
  DatasetInfo info_;
  std::string digest_;
};

Result<std::unique_ptr<Dataset>> make_folder_part(ImageFiles files, const LabelNames& labels) {
  KEDGE_TRY(label_files(files, labels));
  std::string digest = KEDGE_TRY(digest_files(files));
  return std::make_unique<ImageFolder>(std::move(files), labels.classes, std::move(digest));
}

Result<std::unique_ptr<SourceSplits>> open_imagefolder(const config::DataConfig& config) {
  const PartFolders folders = find_part_folders(config.path);
  ImageFiles train = KEDGE_TRY(list_image_files(folders.train));
  if (train.files.empty()) {
    return std::unexpected(missing_data(config, "JPEG or PNG files"));
  }
  const LabelNames labels = KEDGE_TRY(find_labels(train, config));
  auto splits = std::make_unique<SourceSplits>();
  splits->train = KEDGE_TRY(make_folder_part(std::move(train), labels));
  if (folders.test) {
    ImageFiles test = KEDGE_TRY(list_image_files(*folders.test));
    // A test folder without labels (a competition's) is no test split.
    if (!test.files.empty() && has_labels(test, labels)) {
      splits->test = KEDGE_TRY(make_folder_part(std::move(test), labels));
    }
  }
  return splits;
}

const Sources::Add kAddImageFolder(
    {"imagefolder",
     "JPEG and PNG files, labelled by folder or file name (data.label_from)",
     open_imagefolder,
     {"path", "label_from"}});

}  // namespace
}  // namespace kedge::data
