// Turns a loader's batch into tensors on the device: pixels stay 8-bit until they are there. In two
// parts: stage() starts the copies, always into the same one or two pieces of device memory, and
// make() does the rest on the device alone, so that it can be captured and replayed for every
// batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include "data/loader.h"
#include "data/placement.h"
#include "kernels/place_images.h"

namespace kedge::train {

struct Resident;

struct Inputs {
  at::Tensor x;  // images: float [N, C, H, W]; tokens: int64 [N, T]
  at::Tensor y;  // int64 [N], or [N, T]
};

// How images become floats; kept with the model, because inference must do the same.
struct Normalise {
  std::vector<double> mean;
  std::vector<double> std;
};

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

  InputMaker(const Normalise& normalise, Options options);

  void stage(const data::Batch& batch);

  // Of the batch that was staged last.
  Inputs make();

  Inputs operator()(const data::Batch& batch) {
    stage(batch);
    return make();
  }

  // The 8-bit pixels of one image of `batch`, which must have been staged last.
  std::vector<std::uint8_t> pixels_of(const data::Batch& batch, std::int64_t i) const;

  // Where the staged samples lie: a captured make() is good for as long as this stays.
  const void* staged_at() const { return samples_.const_data_ptr(); }

 private:
  // Device memory that is written again for every batch, or for every other one: large batches are
  // copied on a stream of their own while the step before still computes.
  struct Slot {
    at::Tensor samples;
    at::Tensor labels;
    std::optional<c10::Event> is_read;  // what used it last is done
  };

  at::Tensor images();
  at::Tensor render_placed() const;
  void stage_on_device(const at::Tensor& samples, const at::Tensor& labels);
  at::Tensor send(const at::Tensor& host, const at::Tensor& memory);

  // Page-locked memory must not go back to the loader before the copy engine has read it.
  struct InFlight {
    at::Tensor host;
    c10::Event done;
  };

  Options options_;
  at::Tensor scale_;  // [1, C, 1, 1]: 1 / (255 std)
  at::Tensor shift_;  // -mean / std
  std::array<Slot, 2> slots_;
  std::size_t slot_ = 0;  // of the staged batch
  std::optional<c10::Stream> copies_;
  at::Tensor samples_;  // bytes
  at::Tensor labels_;
  data::Batch shape_;  // of the staged batch; its buffers are the loader's again
  std::deque<InFlight> in_flight_;
};

// Page-locked memory when there is a GPU to copy to.
data::Allocate batch_allocator(at::Device device, bool pinned);

}  // namespace kedge::train
