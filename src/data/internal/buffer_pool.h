// Batch memory that is used again: a Buffer comes back here when its last reference goes, since
// page-locked memory is slow to get.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "data/loader.h"

namespace kedge::data {

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  explicit BufferPool(Allocate allocate) : allocate_(std::move(allocate)) {}

  // Null when there is no memory. The Buffer may outlive everyone else's hold on the pool.
  Buffer take(std::size_t size_bytes);

 private:
  void give_back(std::size_t size_bytes, Buffer memory);

  Allocate allocate_;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<Buffer>> free_;
};

}  // namespace kedge::data
