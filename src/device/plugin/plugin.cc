#include <array>

#include <c10/cuda/CUDAStream.h>

#include "device/plugin/compiler.h"
#include "device/plugin/entry.h"
#include "device/plugin/graph.h"
#include "device/plugin/nccl.h"
#include "device/plugin/nvjpeg.h"

namespace kedge::device {
namespace {

class CudaPlugin : public Plugin {
 public:
  explicit CudaPlugin(std::unique_ptr<Compiler> compiler) : compiler_(std::move(compiler)) {}

  void leave_default_stream() override {
    static const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
    c10::cuda::setCurrentCUDAStream(stream);
  }

  std::unique_ptr<Graph> capture(const std::function<void()>& work) override {
    return capture_graph(work);
  }

  std::string target() const override { return compiler_->target(); }

  Result<std::string> compile(const std::string& source, const std::string& name) override {
    return compiler_->compile(source, name);
  }

  Result<std::unique_ptr<Kernel>> load(const std::string& code,
                                       const std::string& function) override {
    return compiler_->load(code, function);
  }

  std::string device_id() const override {
    std::array<char, 32> id{};
    cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), c10::cuda::current_device());
    return id.data();
  }

  Result<std::string> jpeg_version() override { return nvjpeg_version(); }

  Result<std::unique_ptr<JpegEngine>> make_jpeg_engine() override { return make_nvjpeg_engine(); }

  Result<Nccl*> nccl() override { return find_nccl(); }

 private:
  std::unique_ptr<Compiler> compiler_;
};

}  // namespace
}  // namespace kedge::device

extern "C"
    __attribute__((visibility("default"))) kedge::Result<std::unique_ptr<kedge::device::Plugin>>
    kedge_make_gpu_plugin() {
  if (c10::cuda::device_count() == 0) {
    return kedge::fail(kedge::ErrorKind::Unavailable, "libtorch finds no usable GPU");
  }
  return std::make_unique<kedge::device::CudaPlugin>(KEDGE_TRY(kedge::device::make_compiler()));
}
