// TensorFlow's TensorProto, as far as summaries use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::exchange {

struct SmallTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> numbers;     // of a numeric type, or
  std::vector<std::string> texts;  // of DT_STRING
};

// Nothing when it is no tensor, of a type that summaries do not have, or has not as many elements
// as its shape asks for.
std::optional<SmallTensor> parse_tensor(std::string_view message);

// A tensor of one text and no dimensions.
std::string render_text_tensor(std::string_view text);

}  // namespace kedge::exchange
