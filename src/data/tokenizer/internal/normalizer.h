// What is done to text before it is cut: the normalizer of a tokenizer.json. Shared by all threads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace kedge::data {

class Normalizer {
 public:
  Normalizer() = default;  // changes nothing
  // null or a normalizer. Usage names a kind or an option that is not known.
  static Result<Normalizer> read(const nlohmann::json& json);

  bool changes_nothing() const { return steps_.empty(); }

  void apply(std::string& text) const;

 private:
  using Step = std::function<void(std::string&)>;

  Result<void> add(const nlohmann::json& json);
  Result<void> add_replace(const nlohmann::json& json);
  Result<void> add_bert(const nlohmann::json& json);

  std::vector<Step> steps_;
};

}  // namespace kedge::data
