#include "data/pipeline.h"

#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace kedge::data {

Result<Pipeline> Pipeline::parse(const std::vector<std::string>& steps) {
  Pipeline pipeline;
  for (const std::string& step : steps) {
    std::istringstream words(step);
    std::string name;
    words >> name;
    if (name.empty()) {
      return fail(ErrorKind::Usage, "an empty step in a list of transforms",
                  "remove it, or write a transform such as `flip`");
    }
    TransformArgs args;
    for (std::string word; words >> word;) {
      args.push_back(word);
    }
    auto transform = Transforms::make("transform", name, args);
    if (!transform) {
      return std::unexpected(std::move(transform).error());
    }
    pipeline.steps_.push_back(step);
    pipeline.transforms_.push_back(std::move(*transform));
  }
  return pipeline;
}

void Pipeline::apply(Image& image, Random& random) const {
  for (const auto& transform : transforms_) {
    transform->apply(image, random);
  }
}

bool Pipeline::is_random() const {
  for (const auto& transform : transforms_) {
    if (transform->is_random()) {
      return true;
    }
  }
  return false;
}

}  // namespace kedge::data
