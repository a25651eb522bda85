// How numpy describes its arrays to pickle, as far as a reader that calls nothing can follow.
#pragma once

#include <string_view>

#include "checkpoint/internal/pickle.h"
#include "core/result.h"

namespace kedge::checkpoint {

// The names that an array's pickle refers to.
bool is_array_name(std::string_view name);

// Fills `result` with what calling `name` would have made: an empty array, or a type.
Result<void> call_for_array(std::string_view name, const PickleValue& arguments,
                            PickleValue& result);

bool is_array_part(const PickleValue& value);

// What BUILD does: gives an array its shape, type and bytes. A type's own state is not needed.
Result<void> build_array(PickleValue& value, const PickleValue& state);

}  // namespace kedge::checkpoint
