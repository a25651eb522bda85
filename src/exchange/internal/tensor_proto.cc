#include "exchange/internal/tensor_proto.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/protobuf.h"

namespace kedge::exchange {
namespace {

// The numbers of types.proto and tensor.proto.
enum DataType : std::uint64_t {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kHalf = 19,
};

// More would be no summary.
constexpr std::size_t kMostElements = 1U << 20U;

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 0x1FU;
  const double fraction = bits & 0x3FFU;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 0x1F) {
    return fraction == 0 ? sign * INFINITY : NAN;
  }
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(fraction + 1024, exponent - 25);
}

double bfloat_to_double(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

template <typename Number>
void take_all(std::string_view bytes, std::vector<double>& numbers) {
  for (; bytes.size() >= sizeof(Number); bytes.remove_prefix(sizeof(Number))) {
    Number number;
    std::memcpy(&number, bytes.data(), sizeof(Number));
    numbers.push_back(static_cast<double>(number));
  }
}

void take_halves(std::string_view bytes, bool is_bfloat, std::vector<double>& numbers) {
  for (; bytes.size() >= 2; bytes.remove_prefix(2)) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data(), 2);
    numbers.push_back(is_bfloat ? bfloat_to_double(bits) : half_to_double(bits));
  }
}

// tensor_content: the elements as they lie in memory.
void take_content(std::uint64_t type, std::string_view bytes, std::vector<double>& numbers) {
  switch (type) {
    case kFloat:
      return take_all<float>(bytes, numbers);
    case kDouble:
      return take_all<double>(bytes, numbers);
    case kInt32:
      return take_all<std::int32_t>(bytes, numbers);
    case kInt64:
      return take_all<std::int64_t>(bytes, numbers);
    case kInt16:
      return take_all<std::int16_t>(bytes, numbers);
    case kInt8:
      return take_all<std::int8_t>(bytes, numbers);
    case kUint8:
    case kBool:
      return take_all<std::uint8_t>(bytes, numbers);
    case kHalf:
    case kBfloat16:
      return take_halves(bytes, type == kBfloat16, numbers);
    default:
      return;
  }
}

double from_varint(std::uint64_t type, std::uint64_t value) {
  if (type == kHalf || type == kBfloat16) {
    const auto bits = static_cast<std::uint16_t>(value);
    return type == kHalf ? half_to_double(bits) : bfloat_to_double(bits);
  }
  return static_cast<double>(static_cast<std::int64_t>(value));
}

// A repeated field of numbers, packed or not.
bool take_repeated(const ProtoField& field, std::uint64_t type, std::vector<double>& numbers) {
  switch (field.wire) {
    case ProtoReader::kFixed32:
      numbers.push_back(field.as_float());
      return true;
    case ProtoReader::kFixed64:
      numbers.push_back(field.as_double());
      return true;
    case ProtoReader::kVarint:
      numbers.push_back(from_varint(type, field.integer));
      return true;
    default:
      break;
  }
  if (type == kFloat || type == kDouble) {
    take_content(type, field.bytes, numbers);
    return true;
  }
  ProtoReader packed(field.bytes);
  while (!packed.is_at_end() && packed.is_good()) {
    numbers.push_back(from_varint(type, packed.varint()));
  }
  return packed.is_good();
}

bool parse_shape(std::string_view message, std::vector<std::int64_t>& shape) {
  ProtoReader reader(message);
  ProtoField dimension;
  while (reader.next(dimension)) {
    if (dimension.number != 2) {
      continue;
    }
    std::int64_t size = 0;
    ProtoReader inner(dimension.bytes);
    ProtoField field;
    while (inner.next(field)) {
      if (field.number == 1) {
        size = static_cast<std::int64_t>(field.integer);
      }
    }
    if (!inner.is_good() || size < 0) {
      return false;
    }
    shape.push_back(size);
  }
  return reader.is_good();
}

// A single value stands for all elements.
bool complete(SmallTensor& tensor, bool is_text) {
  std::size_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    if (size > 0 && count > kMostElements / static_cast<std::size_t>(size)) {
      return false;
    }
    count *= static_cast<std::size_t>(size);
  }
  if (is_text) {
    return tensor.texts.size() == count;
  }
  if (tensor.numbers.empty() && count > 0) {
    tensor.numbers.assign(count, 0);  // zeros need not be written
  } else if (tensor.numbers.size() == 1 && count > 0) {
    tensor.numbers.assign(count, tensor.numbers[0]);
  }
  return tensor.numbers.size() == count;
}

}  // namespace

std::optional<SmallTensor> parse_tensor(std::string_view message) {
  SmallTensor tensor;
  std::uint64_t type = 0;
  ProtoReader reader(message);
  ProtoField field;
  bool is_good = true;
  while (is_good && reader.next(field)) {
    switch (field.number) {
      case 1:
        type = field.integer;
        break;
      case 2:
        is_good = parse_shape(field.bytes, tensor.shape);
        break;
      case 4:
        take_content(type, field.bytes, tensor.numbers);
        break;
      case 5:   // float_val
      case 6:   // double_val
      case 7:   // int_val
      case 10:  // int64_val
      case 11:  // bool_val
      case 13:  // half_val
        is_good = take_repeated(field, type, tensor.numbers);
        break;
      case 8:
        tensor.texts.emplace_back(field.bytes);
        break;
      default:
        break;
    }
    is_good = is_good && tensor.numbers.size() <= kMostElements;
  }
  if (!is_good || !reader.is_good() || type == 0 || !complete(tensor, type == kString)) {
    return std::nullopt;
  }
  return tensor;
}

std::string render_text_tensor(std::string_view text) {
  ProtoWriter tensor;
  tensor.integer(1, kString);
  tensor.bytes(2, "");
  tensor.bytes(8, text);
  return tensor.message();
}

}  // namespace kedge::exchange
