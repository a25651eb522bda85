#include "device/plugin/graph.h"

#include <memory>

#include <ATen/cuda/CUDAGraph.h>

namespace kedge::device {
namespace {

using Pool = at::cuda::MempoolId_t;

// All graphs that live share one pool of memory: they are replayed one after the other, on one
// stream, so each may use what another has let go. With the last of them libtorch's allocator gives
// the pool up, and its name cannot be used again.
std::shared_ptr<const Pool> find_pool() {
  static std::weak_ptr<const Pool> shared;
  auto pool = shared.lock();
  if (pool == nullptr) {
    pool = std::make_shared<const Pool>(at::cuda::graph_pool_handle());
    shared = pool;
  }
  return pool;
}

class CudaGraph : public Graph {
 public:
  // Only this thread's mistakes may break the capture: the loader's threads allocate page-locked
  // memory meanwhile.
  explicit CudaGraph(const std::function<void()>& work) : pool_(find_pool()) {
    graph_.capture_begin(*pool_, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      abandon();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  // Ends a capture whose work failed, so that the stream and the allocator are usable again.
  void abandon() {
    try {
      graph_.capture_end();
    } catch (...) {
      // An invalid capture says so here too; the first error is the one that matters.
    }
    cudaGetLastError();
  }

  std::shared_ptr<const Pool> pool_;
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<Graph> capture_graph(const std::function<void()>& work) {
  return std::make_unique<CudaGraph>(work);
}

}  // namespace kedge::device
