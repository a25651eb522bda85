#include "device/plugin/graph.h"

#include <ATen/cuda/CUDAGraph.h>

namespace kedge::device {
namespace {

class CudaGraph : public Graph {
 public:
  explicit CudaGraph(const std::function<void()>& work) {
    // All graphs of a process share one pool of memory: they are replayed one after the other, on
    // one stream, so each may use what another has let go. Only this thread's mistakes may break
    // the capture: the loader's threads allocate page-locked memory meanwhile.
    static const auto pool = at::cuda::graph_pool_handle();
    graph_.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
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

  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<Graph> capture_graph(const std::function<void()>& work) {
  return std::make_unique<CudaGraph>(work);
}

}  // namespace kedge::device
