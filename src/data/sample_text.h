// A sample of tokens as a person reads it, with what is trained on marked.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "data/dataset.h"

namespace kedge::data {

// The decoded text, special tokens included, what counts in the loss between "{+" and "+}"; a line
// says where a document begins, and how much padding follows. Empty where the samples are no
// tokens, or nobody says whose.
Result<std::string> render_sample(const Dataset& dataset, std::int64_t index);

}  // namespace kedge::data
