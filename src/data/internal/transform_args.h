// The numbers after a transform's name, checked, with an error that shows the right form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "data/pipeline.h"

namespace kedge::data {

// What a transform takes.
struct ArgsForm {
  std::string_view form;  // "random_crop SIZE [PADDING]"
  std::size_t min_count = 0;
  std::size_t max_count = 0;
};

Error wrong_args(const ArgsForm& form, const TransformArgs& args, std::string_view why);

// Numbers of at least 0.
Result<std::vector<double>> parse_numbers(const ArgsForm& form, const TransformArgs& args);

// Whole numbers; sizes must be at least 1, a PADDING after them may be 0.
Result<std::vector<std::int64_t>> parse_sizes(const ArgsForm& form, const TransformArgs& args);

}  // namespace kedge::data
