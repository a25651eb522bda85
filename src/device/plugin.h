// What kedge asks of a GPU beyond libtorch's tensors: captured steps, kernels of its own, JPEG
// files, NCCL. The answers live in libkedge_cuda.so, which is opened at run time: this room and
// everything above it are built without CUDA, and the same binary runs on machines without a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <c10/core/DeviceType.h>

#include "core/result.h"
#include "device/jpeg_engine.h"

namespace kedge::device {

class Nccl;

// Device work that was captured once and can be done again with a single launch.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void replay() = 0;
};

struct Grid {
  unsigned blocks = 1;
  unsigned blocks_y = 1;
  unsigned threads = 1;  // per block
};

// A compiled function of a CUDA source.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // On the current stream. `arguments` are pointers to the values, in order.
  virtual void launch(const Grid& grid, void** arguments) = 0;

  // With the values themselves, in the types that the kernel has.
  template <typename... Values>
  void operator()(const Grid& grid, Values... values) {
    void* arguments[] = {const_cast<void*>(static_cast<const void*>(&values))...};
    launch(grid, arguments);
  }
};

class Plugin {
 public:
  virtual ~Plugin() = default;

  // Where the tensors lie that its kernels can read.
  virtual at::DeviceType device() const { return at::kCUDA; }

  // Sends this thread's device work to a stream of its own from now on: the default stream cannot
  // be captured. Everything that shares tensors with a graph must use the same stream.
  virtual void leave_default_stream() = 0;

  // Runs `work` while the device only notes what it is asked for; nothing is computed until
  // replay(). Throws what `work` throws, and c10::Error where it did something that cannot be
  // captured (reading a value back, say); the device can be used as before then.
  virtual std::unique_ptr<Graph> capture(const std::function<void()>& work) = 0;

  // What compiled kernels depend on: "sm_90, NVRTC 13.0".
  virtual std::string target() const = 0;

  // Machine code for the current device; the error holds the compiler's own words.
  virtual Result<std::string> compile(const std::string& source, const std::string& name) = 0;

  virtual Result<std::unique_ptr<Kernel>> load(const std::string& code,
                                               const std::string& function) = 0;

  // nvJPEG, where the plugin has it: "13.0"; the error says why this process cannot use it.
  virtual Result<std::string> jpeg_version() {
    return fail(ErrorKind::Unavailable, "this plugin decodes no JPEG files");
  }

  // On the current device.
  virtual Result<std::unique_ptr<JpegEngine>> make_jpeg_engine() {
    return std::unexpected(jpeg_version().error());
  }

  // Which GPU of the machine the current device is, whatever this process calls it.
  virtual std::string device_id() const { return {}; }

  // Where the plugin has it (device/nccl.h); the error says why this process cannot use it.
  virtual Result<Nccl*> nccl() { return fail(ErrorKind::Unavailable, "this plugin has no NCCL"); }
};

// Opens libtorch_cuda and the plugin, once. Call before anything asks libtorch about CUDA, which
// asks once and remembers. The current device becomes the one of this number among the machine's
// ranks; with more ranks than GPUs they share.
void open(std::int64_t local_rank = 0);

// Null where there is no GPU or it cannot be used; why_missing() says why then.
Plugin* plugin();
const std::string& why_missing();

// Whether libtorch's own CUDA library was opened: tensors work on the GPU without the plugin too.
bool has_torch_cuda();

}  // namespace kedge::device
