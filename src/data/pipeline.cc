#include "data/pipeline.h"

#include <algorithm>
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
  pipeline.fixed_ = static_cast<std::size_t>(
      std::ranges::find_if(pipeline.transforms_, [](const auto& t) { return t->is_random(); }) -
      pipeline.transforms_.begin());
  return pipeline;
}

void Pipeline::apply(Image& image, Visit& visit) const {
  for (const auto& transform : transforms_) {
    transform->apply(image, visit);
  }
}

bool Pipeline::is_random() const {
  return fixed_ < transforms_.size();
}

void Pipeline::apply_fixed(Image& image) const {
  Visit unused{.random = Random(0)};
  for (std::size_t i = 0; i < fixed_; ++i) {
    transforms_[i]->apply(image, unused);
  }
}

bool Pipeline::can_place() const {
  int crops = 0;
  int colours = 0;
  int cuts = 0;
  for (std::size_t i = fixed_; i < transforms_.size(); ++i) {
    switch (transforms_[i]->placing()) {
      case Placing::None:
        return false;
      case Placing::Mirror:
        break;
      case Placing::Crop:
        // What one crop cut away must stay black in the padding of the next, and before a crop
        // contrast and cuts have another mean colour.
        if (++crops > 1 || colours > 0 || cuts > 0) {
          return false;
        }
        break;
      case Placing::Colour:
        if (++colours > 1 || cuts > 0) {
          return false;
        }
        break;
      case Placing::Cut:
        if (++cuts > 1) {
          return false;
        }
        break;
    }
  }
  return true;
}

void Pipeline::place(Placement& placement, Visit& visit) const {
  for (std::size_t i = fixed_; i < transforms_.size(); ++i) {
    transforms_[i]->place(placement, visit);
  }
}

}  // namespace kedge::data
