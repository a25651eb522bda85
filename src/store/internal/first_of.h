// The one row that was asked for, where there is one.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace kedge::store {

template <typename T>
std::optional<T> first_of(std::vector<T> found) {
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

}  // namespace kedge::store
