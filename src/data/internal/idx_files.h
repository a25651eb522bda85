// MNIST's idx files, plain or gzip-compressed, under the names they are published with.
#pragma once

#include <array>
#include <string_view>

#include "core/file.h"
#include "core/result.h"
#include "data/internal/image_block.h"

namespace kedge::data {

inline constexpr std::array<std::string_view, 4> kIdxFiles = {
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte"};

// Looks in `folder` and where packages and torchvision put the files; NotFound when there are none.
Result<ImageParts> read_idx_parts(const Path& folder);

// The four files, not compressed, so that opening them is only reading.
Result<void> write_idx_parts(const ImageParts& data, const Path& folder);

}  // namespace kedge::data
