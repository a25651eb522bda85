// The public data sets that `kedge data get` knows: where each comes from and what it must hold.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "data/get.h"
#include "data/internal/image_block.h"

namespace kedge::data {

// One place to get a set from.
struct Way {
  std::string from;  // for people
  bool is_original = false;
  // Puts the files below `work`, or fails; gives the folder to read them from.
  std::function<Result<Path>(const Path& work, const GetOptions& options)> fetch;
};

struct PublicSet {
  std::string name;
  std::string title;
  std::string sha256;  // of the decoded content, so that every published form agrees
  std::vector<Way> ways;
  std::function<Result<ImageParts>(const Path&)> read;
  std::function<Result<void>(const ImageParts&, const Path&)> write;
};

const std::vector<PublicSet>& public_sets();

// SHA-256 of the training pixels (HWC), training labels, test pixels and test labels.
std::string content_sha256(const ImageParts& data);

}  // namespace kedge::data
