// What a prediction is asked for: images by path, or texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

enum class ItemKind : std::uint8_t { Image, Text };

struct PredictItem {
  std::string id;
  Path image;        // of ItemKind::Image
  std::string text;  // of ItemKind::Text
};

// An image, a folder (searched recursively, sorted), or a .jsonl file whose records hold "image"
// (a path, relative to the file) or "text", and optionally "id". The order is always the same.
Result<std::vector<PredictItem>> list_items(const Path& input, ItemKind kind);

}  // namespace kedge::use
