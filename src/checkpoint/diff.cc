#include "checkpoint/diff.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/internal/dtype.h"
#include "checkpoint/tensor_file.h"

namespace kedge::checkpoint {
namespace {

using DifferenceKind = Difference::Kind;

// State values are cut here in messages; a history can be long.
constexpr std::size_t kMaxTextBytes = 80;

std::string shorten(std::string text) {
  if (text.size() > kMaxTextBytes) {
    text = text.substr(0, kMaxTextBytes) + "...";
  }
  return text;
}

std::string render_json(const nlohmann::json& value) {
  return shorten(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

template <typename T>
T read_as(const std::uint8_t* bytes) {
  T value{};
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 0x1F;
  const int fraction = bits & 0x3FF;
  double value = 0;
  if (exponent == 0x1F) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000U) != 0 ? -value : value;
}

double element_as_double(DType type, const std::uint8_t* bytes) {
  switch (type) {
    case DType::F64:
      return read_as<double>(bytes);
    case DType::F32:
      return static_cast<double>(read_as<float>(bytes));
    case DType::F16:
      return half_to_double(read_as<std::uint16_t>(bytes));
    case DType::BF16:
      return static_cast<double>(
          std::bit_cast<float>(static_cast<std::uint32_t>(read_as<std::uint16_t>(bytes)) << 16U));
    case DType::I64:
      return static_cast<double>(read_as<std::int64_t>(bytes));
    case DType::I32:
      return read_as<std::int32_t>(bytes);
    case DType::I16:
      return read_as<std::int16_t>(bytes);
    case DType::I8:
      return read_as<std::int8_t>(bytes);
    case DType::U8:
    case DType::Bool:
      return *bytes;
  }
  return 0;
}

// Enough digits to tell neighbours apart; integers exactly.
std::string element_as_text(DType type, const std::uint8_t* bytes) {
  switch (type) {
    case DType::F64:
      return fmt::format("{}", read_as<double>(bytes));
    case DType::F32:
      return fmt::format("{}", read_as<float>(bytes));
    case DType::I64:
      return fmt::format("{}", read_as<std::int64_t>(bytes));
    default:
      return fmt::format("{}", element_as_double(type, bytes));
  }
}

std::vector<std::int64_t> find_index(std::int64_t flat, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options) : options_(options) {}

  void compare_state(const nlohmann::json& a, const nlohmann::json& b, const std::string& path) {
    if (std::ranges::find(options_.ignored, path) != options_.ignored.end()) {
      return;
    }
    if (a.is_object() && b.is_object()) {
      compare_objects(a, b, path);
    } else if (a.is_array() && b.is_array()) {
      const std::size_t common = std::min(a.size(), b.size());
      for (std::size_t i = 0; i < common; ++i) {
        compare_state(a[i], b[i], fmt::format("{}[{}]", path, i));
      }
      if (a.size() != b.size()) {
        add(DifferenceKind::Shape, "state", path, fmt::format("{} items", a.size()),
            fmt::format("{} items", b.size()));
      }
    } else if (std::string_view(a.type_name()) != b.type_name()) {
      add(DifferenceKind::Type, "state", path, render_json(a), render_json(b));
    } else if (a != b) {
      add(DifferenceKind::Value, "state", path, render_json(a), render_json(b));
    }
  }

  void compare_parts(const std::string& part, const TensorFile& a, const TensorFile& b) {
    std::map<std::string_view, const TensorView*> others;
    for (const TensorView& tensor : b.tensors()) {
      others.emplace(tensor.name, &tensor);
    }
    for (const TensorView& tensor : a.tensors()) {
      const auto other = others.find(tensor.name);
      if (other == others.end()) {
        add(DifferenceKind::Missing, part, tensor.name, render_shape(tensor.shape), "");
        continue;
      }
      compare_tensors(part, tensor, *other->second);
      others.erase(other);
    }
    for (const TensorView& tensor : b.tensors()) {
      if (others.contains(tensor.name)) {
        add(DifferenceKind::Missing, part, tensor.name, "", render_shape(tensor.shape));
      }
    }
  }

  Difference& add(DifferenceKind kind, std::string part, std::string name, std::string a,
                  std::string b) {
    Difference difference;
    difference.kind = kind;
    difference.part = std::move(part);
    difference.name = std::move(name);
    difference.a = std::move(a);
    difference.b = std::move(b);
    return found_.emplace_back(std::move(difference));
  }

  std::vector<Difference> take() { return std::move(found_); }

 private:
  void compare_objects(const nlohmann::json& a, const nlohmann::json& b, const std::string& path) {
    const auto below = [&](const std::string& key) {
      return path.empty() ? key : fmt::format("{}.{}", path, key);
    };
    const auto is_ignored = [&](const std::string& key) {
      return std::ranges::find(options_.ignored, below(key)) != options_.ignored.end();
    };
    for (const auto& [key, value] : a.items()) {
      if (b.contains(key)) {
        compare_state(value, b[key], below(key));
      } else if (!is_ignored(key)) {
        add(DifferenceKind::Missing, "state", below(key), render_json(value), "");
      }
    }
    for (const auto& [key, value] : b.items()) {
      if (!a.contains(key) && !is_ignored(key)) {
        add(DifferenceKind::Missing, "state", below(key), "", render_json(value));
      }
    }
  }

  void compare_tensors(const std::string& part, const TensorView& a, const TensorView& b) {
    if (a.type != b.type) {
      add(DifferenceKind::Type, part, a.name, std::string(name_of(a.type)),
          std::string(name_of(b.type)));
    } else if (a.shape != b.shape) {
      add(DifferenceKind::Shape, part, a.name, render_shape(a.shape), render_shape(b.shape));
    } else if (!std::ranges::equal(a.bytes, b.bytes)) {
      compare_elements(part, a, b);
    }
  }

  void compare_elements(const std::string& part, const TensorView& a, const TensorView& b) {
    const auto size = static_cast<std::size_t>(size_of(a.type));
    Difference& difference = add(DifferenceKind::Value, part, a.name, "", "");
    difference.elements = static_cast<std::int64_t>(a.bytes.size() / size);
    for (std::size_t at = 0; at < a.bytes.size(); at += size) {
      const std::uint8_t* one = a.bytes.data() + at;
      const std::uint8_t* other = b.bytes.data() + at;
      if (std::memcmp(one, other, size) == 0) {
        continue;
      }
      if (difference.count++ == 0) {
        difference.index = find_index(static_cast<std::int64_t>(at / size), a.shape);
        difference.a = element_as_text(a.type, one);
        difference.b = element_as_text(a.type, other);
      }
      const double gap =
          std::abs(element_as_double(a.type, one) - element_as_double(a.type, other));
      if (std::isnan(gap) || gap > difference.max_abs) {
        difference.max_abs = gap;
      }
    }
  }

  const CompareOptions& options_;
  std::vector<Difference> found_;
};

// What to compare, in order; parts of `b` alone come last.
std::vector<std::string> list_subjects(const Checkpoint& a, const Checkpoint& b,
                                       const CompareOptions& options) {
  std::vector<std::string> all = {"state"};
  for (const Checkpoint* checkpoint : {&a, &b}) {
    for (const std::string& name : checkpoint->part_names()) {
      if (std::ranges::find(all, name) == all.end()) {
        all.push_back(name);
      }
    }
  }
  const auto rank = [&](const std::string& name) {
    return std::ranges::find(options.order, name) - options.order.begin();
  };
  std::ranges::stable_sort(all, {}, rank);
  return all;
}

}  // namespace

std::vector<Difference> compare(const Checkpoint& a, const Checkpoint& b,
                                const CompareOptions& options) {
  Comparison comparison(options);
  for (const std::string& name : list_subjects(a, b, options)) {
    if (name == "state") {
      comparison.compare_state(a.state(), b.state(), "");
    } else if (!a.has_part(name) || !b.has_part(name)) {
      const auto count = [&](const Checkpoint& checkpoint) {
        return checkpoint.has_part(name)
                   ? fmt::format("{} tensors", checkpoint.part(name).tensors().size())
                   : std::string();
      };
      comparison.add(DifferenceKind::Missing, name, "", count(a), count(b));
    } else {
      comparison.compare_parts(name, a.part(name), b.part(name));
    }
  }
  return comparison.take();
}

std::string render(const Difference& difference) {
  const Difference& d = difference;
  std::string what = d.part;
  if (d.part == "state") {
    what += d.name.empty() ? "" : (d.name.starts_with('[') ? "" : ".") + d.name;
  } else if (!d.name.empty()) {
    what += fmt::format(": tensor '{}'", d.name);
  }
  switch (d.kind) {
    case DifferenceKind::Missing:
      return fmt::format("{} is only in the {} checkpoint ({})", what,
                         d.a.empty() ? "second" : "first", d.a.empty() ? d.b : d.a);
    case DifferenceKind::Type:
    case DifferenceKind::Shape:
      return fmt::format("{} is {} and {}", what, d.a, d.b);
    case DifferenceKind::Value:
      break;
  }
  if (d.elements == 0) {
    return fmt::format("{} is {} and {}", what, d.a, d.b);
  }
  return fmt::format("{} differs in {} of {} elements, first at {}: {} and {}; by {:.3g} at most",
                     what, d.count, d.elements, render_shape(d.index), d.a, d.b, d.max_abs);
}

}  // namespace kedge::checkpoint
