// What a prediction is asked for: images by path, or texts.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

struct PredictItem {
  std::string id;
  Path image;        // image models
  std::string text;  // language models
};

// An image, a folder (searched recursively, sorted), or a .jsonl file whose records hold "image"
// (a path, relative to the file) or "text", and optionally "id". The order is always the same.
Result<std::vector<PredictItem>> list_items(const Path& input, bool is_language);

}  // namespace kedge::use
