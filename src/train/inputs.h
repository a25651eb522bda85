// Turns a loader's batch into tensors on the device: pixels stay 8-bit until they are there. In two
// parts: stage() starts the copies of all fields, each always into the same one or two pieces of
// device memory, and make() does the rest on the device alone, so that it can be captured and
// replayed for every batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include "data/field.h"
#include "data/image.h"
#include "data/loader.h"
#include "kernels/place_images.h"
#include "nn/model_input.h"

namespace kedge::train {

struct Preparation;
struct Resident;
class Task;

struct Inputs {
  at::Tensor x;               // images: float [N, C, H, W]; tokens: int64 [N, T]
  at::Tensor y;               // int64 [N], or [N, T]; undefined for images without labels
  at::Tensor counted = {};    // targets that a mask leaves, a double; undefined: all of them
  at::Tensor documents = {};  // nn::ModelInput's
  at::Tensor reference = {};  // preference pairs: float [N, 2]
  // What a teacher found (stored_scores.h): bytes [N, ...], int32 [N, positions, kept].
  at::Tensor teacher_scores = {};
  at::Tensor teacher_ids = {};

  nn::ModelInput input() const { return {x, documents}; }
};

// How images become floats; kept with the model, because inference must do the same.
struct Normalise {
  std::vector<double> mean;
  std::vector<double> std;
};

// For one thread. It owns the device memory that batches are copied to, and keeps the host's
// buffers alive until they are read.
class InputMaker {
 public:
  struct Options {
    at::Device device{at::kCPU};
    at::ScalarType type = at::kFloat;
    bool channels_last = true;
    // The set that placed batches are cut from; must outlive the maker. On a GPU, how to cut.
    const Resident* resident = nullptr;
    kernels::PlaceImages* place = nullptr;
  };

  InputMaker(const Preparation& preparation, Options options);

  // Returns at once; the batch may be destroyed. What the batch before it was staged to stays valid
  // for work that was queued already.
  void stage(const data::Batch& batch);

  // Of the batch that was staged last: what the task makes of its fields. Targets that its mask
  // leaves out are nn::kIgnoredTarget.
  Inputs make();

  Inputs operator()(const data::Batch& batch) {
    stage(batch);
    return make();
  }

  // A field of the batch that was staged last, on the device: [count, shape...]. Undefined where
  // the batch has no such field. Placements are bytes.
  at::Tensor staged(std::string_view name) const;

  // The staged field "image": [N, C, H, W], normalised.
  at::Tensor images() const;

  // One image of `batch`, which must have some, as 8-bit pixels.
  data::Image image_of(const data::Batch& batch, std::int64_t i) const;

  // Where the staged fields lie: a captured make() is good for as long as this stays. There must be
  // a staged batch.
  const void* staged_at() const { return staged_.front().bytes.const_data_ptr(); }

 private:
  // Device memory that is written again for every batch, or for every other one: large batches are
  // copied on a stream of their own while the step before still computes.
  struct Slot {
    std::vector<at::Tensor> fields;     // bytes
    std::optional<c10::Event> is_read;  // what used it last is done
  };

  struct StagedField : data::FieldInfo {
    at::Tensor bytes;
  };

  at::Tensor render_placed(const StagedField& image) const;
  void stage_on_device();
  bool has_room(const std::vector<at::Tensor>& memory) const;
  std::vector<at::Tensor> make_room() const;
  at::Tensor send(const at::Tensor& host, const at::Tensor& memory);

  // Page-locked memory must not go back to the loader before the copy engine has read it.
  struct InFlight {
    at::Tensor host;
    c10::Event done;
  };

  Options options_;
  std::shared_ptr<const Task> task_;
  at::Tensor scale_;  // [1, C, 1, 1]: 1 / (255 std)
  at::Tensor shift_;  // -mean / std
  std::array<Slot, 2> slots_;
  std::size_t slot_ = 0;  // of the staged batch
  std::optional<c10::Stream> copies_;
  std::int64_t count_ = 0;  // samples of the staged batch
  std::vector<StagedField> staged_;
  std::deque<InFlight> in_flight_;
};

// What the mean loss of a batch counts by among others': the targets that its mask leaves, or its
// samples where it has no mask, for each has equally many.
std::int64_t loss_weight(const data::Batch& batch);

// Page-locked memory when there is a GPU to copy to.
data::Allocate batch_allocator(at::Device device, bool pinned);

}  // namespace kedge::train
