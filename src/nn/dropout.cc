#include "nn/dropout.h"

#include <set>

#include "nn/model.h"

namespace kedge::nn {
namespace {

std::set<std::string_view>& takers() {
  static std::set<std::string_view> names;
  return names;
}

}  // namespace

TakesDropout::TakesDropout(std::initializer_list<std::string_view> models) {
  takers().insert(models);
}

std::vector<std::string_view> models_with_dropout() {
  return {takers().begin(), takers().end()};
}

bool is_dropout_ignored(const config::ModelConfig& config) {
  if (!config.dropout) {
    return false;
  }
  // A name that nobody has is another mistake, which make_model tells.
  return !config.file.empty() ||
         (Models::all().contains(config.name) && !takers().contains(config.name));
}

}  // namespace kedge::nn
