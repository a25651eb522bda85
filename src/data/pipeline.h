// A Pipeline is the list of transforms that an image goes through, on 8-bit pixels, before it is
// put into a batch. Random transforms take their randomness from a key, never from shared state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "core/registry.h"
#include "core/result.h"
#include "data/dataset.h"
#include "data/placement.h"

namespace kedge::data {

// One sample coming up in one epoch, and the chance its transforms have there.
struct Visit {
  Random random;  // another one at each visit
  std::int64_t epoch = 0;
  std::uint64_t sample_key = 0;  // a random number of the sample's own, the same in every epoch
};

class Transform {
 public:
  virtual ~Transform() = default;
  // Safe from many threads. Cannot fail: what does not fit was refused when the step was parsed.
  virtual void apply(Image& image, Visit& visit) const = 0;

  virtual bool is_random() const { return false; }

  // Transforms that only move pixels can say where to instead of moving them. place() draws the
  // same random numbers as apply().
  virtual Placing placing() const { return Placing::None; }

  virtual void place(Placement&, Visit&) const {}
};

// The words after the transform's name: "random_crop 32 4" gives {"32", "4"}.
using TransformArgs = std::vector<std::string>;

// A transform is one file in data/transforms/, registered by name.
using Transforms = Registry<Transform, TransformArgs>;

class Pipeline {
 public:
  // Usage: a step that nobody knows, with the nearest one that is; or arguments that do not fit.
  static Result<Pipeline> parse(const std::vector<std::string>& steps);

  void apply(Image& image, Visit& visit) const;
  bool is_random() const;

  // The steps before the first random one give the same image every time; they can be applied
  // once for all epochs. Whether the others can be placed then.
  void apply_fixed(Image& image) const;
  bool can_place() const;
  void place(Placement& placement, Visit& visit) const;

  // The steps as given; stored with the model, so that inference prepares images the same way.
  const std::vector<std::string>& steps() const { return steps_; }

 private:
  std::vector<std::string> steps_;
  std::vector<std::unique_ptr<Transform>> transforms_;
  std::size_t fixed_ = 0;  // steps before the first random one
};

}  // namespace kedge::data
