// A field is a named, typed value that every sample of a data set has: pixels, a label, a window of
// ids. A source says which its samples have; a batch holds each of them side by side in a Buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/image.h"

namespace kedge::data {

// The fields that are known by name. A source may have others.
inline constexpr std::string_view kImage = "image";    // U8 [height, width, channels], or Placement
inline constexpr std::string_view kLabel = "label";    // I64 []: Dataset::label()
inline constexpr std::string_view kTokens = "tokens";  // I32 [context + 1]
// U8, one value a target: 0 where it counts for nothing in the loss.
inline constexpr std::string_view kLossMask = "loss_mask";
// I32 [context], one value an input token: which document of the sample it belongs to, 0, 1, 2 ...
// in order, each a stretch of its own. Padding at the end is one further document. Positions begin
// anew and attention ends where the number changes.
inline constexpr std::string_view kDocuments = "documents";
// Two texts of which the first is preferred: I32 [2, context + 1], padded at the end; U8 [2,
// context], one value a target: 1 where it belongs to the answer that is judged; F32 [2], the sums
// of the answers' log-probabilities before training, which the trainer adds.
inline constexpr std::string_view kPairTokens = "pair_tokens";
inline constexpr std::string_view kPairMask = "pair_mask";
inline constexpr std::string_view kPairReference = "pair_reference";

// Placement: one data::Placement a sample, which says where U8 values of the field's shape are.
enum class FieldType : std::uint8_t { U8, I32, I64, F32, Placement };

struct FieldInfo {
  std::string name;
  FieldType type = FieldType::U8;
  std::vector<std::int64_t> shape = {};  // of one sample; 0 where samples differ

  std::size_t bytes_per_sample() const;

  bool operator==(const FieldInfo&) const = default;
};

// Null when there is no such field.
template <typename Fields>
auto find_field(Fields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &FieldInfo::name);
  return found == fields.end() ? nullptr : &*found;
}

// What samples of the usual kinds have. A height and width of 0: images differ in size.
std::vector<FieldInfo> image_fields(const ImageShape& shape);
std::vector<FieldInfo> token_fields(std::int64_t context);

// The same fields for images of any height and width.
std::vector<FieldInfo> without_size(std::vector<FieldInfo> fields);

// Shared: tensors made from a batch may outlive it.
using Buffer = std::shared_ptr<std::uint8_t>;

// A field of all samples of a batch, one after the other. A batch without samples has no buffer.
struct Field : FieldInfo {
  Buffer buffer;

  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(buffer.get());
  }
};

}  // namespace kedge::data
