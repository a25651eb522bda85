// Reads the texts of a run's JSON files, which may come from anywhere.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace kedge::track {

// Empty where the object has no such key, or no text under it.
inline std::string text_of(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace kedge::track
