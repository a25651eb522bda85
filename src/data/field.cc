#include "data/field.h"

#include "data/placement.h"

namespace kedge::data {
namespace {

std::size_t size_of(FieldType type) {
  switch (type) {
    case FieldType::U8:
      return 1;
    case FieldType::I64:
      return sizeof(std::int64_t);
    case FieldType::Placement:
      return sizeof(Placement);
    case FieldType::I32:
    case FieldType::F32:
      break;
  }
  return 4;
}

}  // namespace

std::size_t FieldInfo::bytes_per_sample() const {
  std::size_t bytes = size_of(type);
  if (type != FieldType::Placement) {
    for (const std::int64_t side : shape) {
      bytes *= static_cast<std::size_t>(side);
    }
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

}  // namespace kedge::data
