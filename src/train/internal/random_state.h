// The random number generators that training draws from: dropout, mixup, weight initialisation.
// The order of samples and their augmentation need none: they are functions of the position.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_file.h"
#include "core/result.h"
#include "dist/process_group.h"
#include "nn/model.h"

namespace kedge::train {

// Copies: "cpu", and "cuda" where the device is one.
nn::NamedTensors random_state(at::Device device);

// A generator that `saved` does not have, because it was saved on another device, stays as it is.
Result<void> restore_random_state(const checkpoint::TensorFile& saved, at::Device device);

// Of many ranks, whose states rank 0 has in `saved` (null on the others): each gets its own. Where
// fewer ranks saved, the others keep what they have.
Result<void> broadcast_random_state(dist::ProcessGroup& group, const checkpoint::Checkpoint* saved,
                                    at::Device device);

// Different numbers on every rank, from one seed: for what is drawn after the weights.
void seed_rank(std::uint64_t seed, std::int64_t rank);

}  // namespace kedge::train
