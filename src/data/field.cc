#include "data/field.h"

#include <array>

#include "data/placement.h"

namespace kedge::data {

std::size_t FieldInfo::bytes_per_sample() const {
  if (type == FieldType::Placement) {
    return sizeof(Placement);
  }
  constexpr std::array<std::size_t, 4> kSizes = {1, 4, 8, 4};  // in the order of FieldType
  std::size_t bytes = kSizes.at(static_cast<std::size_t>(type));
  for (const std::int64_t side : shape) {
    bytes *= static_cast<std::size_t>(side);
  }
  return bytes;
}

std::vector<FieldInfo> image_fields(const ImageShape& shape) {
  return {{.name = std::string(kImage),
           .type = FieldType::U8,
           .shape = {shape.height, shape.width, shape.channels}},
          {.name = std::string(kLabel), .type = FieldType::I64}};
}

std::vector<FieldInfo> token_fields(std::int64_t context) {
  return {{.name = std::string(kTokens), .type = FieldType::I32, .shape = {context + 1}}};
}

std::vector<FieldInfo> without_size(std::vector<FieldInfo> fields) {
  if (FieldInfo* image = find_field(fields, kImage)) {
    std::fill_n(image->shape.begin(), 2, 0);
  }
  return fields;
}

}  // namespace kedge::data
