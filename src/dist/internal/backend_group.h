// A group over c10d's Gloo, and for tensors on GPUs over NCCL where all ranks can. c10d's headers
// are included in this room's sources and nowhere else.
#pragma once

#define USE_C10D_GLOO

#include <chrono>
#include <exception>
#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "dist/process_group.h"

namespace kedge::dist {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

// libtorch's messages go on with its own stack, which helps nobody here.
std::string first_line(const std::exception& error);

// What a group needs to be made, and to make another one.
struct Origin {
  StorePtr store;
  std::string address;  // this rank's
  std::chrono::milliseconds timeout;
  int rank = 0;
  int size = 1;
  bool has_nccl = false;
};

// Waits for the other ranks. Throws what c10d throws.
std::unique_ptr<ProcessGroup> make_backend_group(const Origin& origin, const std::string& name);

}  // namespace kedge::dist
