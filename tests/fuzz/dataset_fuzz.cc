// Data sets of any bytes: 'i' first, an idx file of images and one of labels with FF FE between;
// 'z', a gzip file; 'p', a pickled batch of CIFAR-10; anything else, a binary one.
#include <cstdint>
#include <fstream>
#include <string_view>

#include "core/result.h"
#include "core/scratch_folder.h"
#include "data/internal/cifar10_files.h"
#include "data/internal/gzip.h"
#include "data/internal/idx_files.h"
#include "input_file.h"

namespace {

using namespace kedge;
using namespace kedge::data;

void fill(const Path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void check(const Result<ImageParts>& parts) {
  if (!parts) {
    return;
  }
  for (const ImageBlock* block : {&parts->train, &parts->test}) {
    KEDGE_CHECK(block->pixels.size() ==
                    block->labels.size() *
                        static_cast<std::size_t>(block->height * block->width * block->channels),
                "each image has its label");
  }
}

// Images and labels of the test set are those of the training set.
void read_idx(std::string_view input) {
  static const ScratchFolder folder;
  const std::size_t half = input.find("\xFF\xFE");
  const std::string_view images = input.substr(0, half);
  const std::string_view labels =
      half == std::string_view::npos ? std::string_view() : input.substr(half + 2);
  for (std::size_t i = 0; i < kIdxFiles.size(); ++i) {
    fill(folder / std::string(kIdxFiles[i]), i % 2 == 0 ? images : labels);
  }
  check(read_idx_parts(folder.path()));
}

void read_cifar(std::string_view input, std::string_view ending) {
  static const ScratchFolder binary;
  static const ScratchFolder pickled;
  const ScratchFolder& folder = ending.empty() ? pickled : binary;
  for (const char* name : {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                           "data_batch_5", "test_batch"}) {
    fill(folder / (name + std::string(ending)), input);
  }
  check(read_cifar10(folder.path()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const char mode = input.empty() ? ' ' : input[0];
  const std::string_view rest = input.substr(input.empty() ? 0 : 1);
  if (mode == 'i') {
    read_idx(rest);
  } else if (mode == 'z') {
    (void)unpack_gzip(std::string(rest), "input");
  } else {
    read_cifar(rest, mode == 'p' ? "" : ".bin");
  }
  return 0;
}
