#include "device/plugin/nvjpeg.h"

#include <array>
#include <cstddef>

#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include "device/plugin/library.h"

namespace kedge::device {
namespace {

using NvjpegHandle = struct NvjpegHandleTag*;
using NvjpegState = struct NvjpegStateTag*;

struct NvjpegImage {
  std::array<std::uint8_t*, 4> channel;
  std::array<std::size_t, 4> pitch;
};

constexpr int kHybrid = 1;  // nvjpegBackend_t: a GPU's own decoder takes batches only
constexpr int kPlanes = 1;  // nvjpegOutputFormat_t

struct Nvjpeg {
  int (*create)(int backend, void* device_memory, void* pinned_memory, unsigned flags,
                NvjpegHandle*);
  int (*make_state)(NvjpegHandle, NvjpegState*);
  int (*free_state)(NvjpegState);
  int (*decode)(NvjpegHandle, NvjpegState, const std::uint8_t* file, std::size_t size, int format,
                NvjpegImage*, cudaStream_t);
  int (*property)(int which, int* value);
  NvjpegHandle handle;  // for all threads; never freed
};

Result<Nvjpeg> open_nvjpeg() {
  void* library =
      open_library({"libnvjpeg.so.13", "libnvjpeg.so.12", "/usr/local/cuda/lib64/libnvjpeg.so.13",
                    "/usr/local/cuda/lib64/libnvjpeg.so.12"});
  Nvjpeg nvjpeg{};
  if (library == nullptr || !find_symbol(library, "nvjpegCreateEx", nvjpeg.create) ||
      !find_symbol(library, "nvjpegJpegStateCreate", nvjpeg.make_state) ||
      !find_symbol(library, "nvjpegJpegStateDestroy", nvjpeg.free_state) ||
      !find_symbol(library, "nvjpegDecode", nvjpeg.decode) ||
      !find_symbol(library, "nvjpegGetProperty", nvjpeg.property)) {
    return fail(ErrorKind::Unavailable, fmt::format("nvJPEG cannot be opened: {}", ::dlerror()));
  }
  if (const int code = nvjpeg.create(kHybrid, nullptr, nullptr, 0, &nvjpeg.handle); code != 0) {
    return fail(ErrorKind::Unavailable, fmt::format("nvJPEG does not start: error {}", code));
  }
  return nvjpeg;
}

const Result<Nvjpeg>& nvjpeg() {
  static const Result<Nvjpeg> opened = open_nvjpeg();
  return opened;
}

class NvjpegEngine : public JpegEngine {
 public:
  NvjpegEngine(const Nvjpeg& nvjpeg, NvjpegState state)
      : nvjpeg_(nvjpeg), state_(state), stream_(c10::cuda::getStreamFromPool()) {
    // Waiting threads sleep: spinning ones would take the CPU from those that transform images.
    cudaEventCreateWithFlags(&done_, cudaEventBlockingSync | cudaEventDisableTiming);
  }

  ~NvjpegEngine() override {
    nvjpeg_.free_state(state_);
    cudaEventDestroy(done_);
  }

  NvjpegEngine(const NvjpegEngine&) = delete;
  NvjpegEngine& operator=(const NvjpegEngine&) = delete;

  c10::Stream stream() const override { return stream_.unwrap(); }

  bool read(std::span<const std::uint8_t> file, std::span<const at::Tensor> planes) override {
    NvjpegImage image{};
    for (std::size_t i = 0; i < planes.size(); ++i) {
      image.channel[i] = planes[i].data_ptr<std::uint8_t>();
      image.pitch[i] = static_cast<std::size_t>(planes[i].size(1));
    }
    return nvjpeg_.decode(nvjpeg_.handle, state_, file.data(), file.size(), kPlanes, &image,
                          stream_.stream()) == 0;
  }

  bool wait() override {
    return cudaEventRecord(done_, stream_.stream()) == cudaSuccess &&
           cudaEventSynchronize(done_) == cudaSuccess;
  }

 private:
  const Nvjpeg& nvjpeg_;
  NvjpegState state_;
  c10::cuda::CUDAStream stream_;
  cudaEvent_t done_ = nullptr;
};

}  // namespace

Result<std::string> nvjpeg_version() {
  if (!nvjpeg()) {
    return std::unexpected(nvjpeg().error());
  }
  int major = 0;
  int minor = 0;
  nvjpeg()->property(0, &major);
  nvjpeg()->property(1, &minor);
  return fmt::format("{}.{}", major, minor);
}

Result<std::unique_ptr<JpegEngine>> make_nvjpeg_engine() {
  if (!nvjpeg()) {
    return std::unexpected(nvjpeg().error());
  }
  NvjpegState state = nullptr;
  if (const int code = nvjpeg()->make_state(nvjpeg()->handle, &state); code != 0) {
    return fail(ErrorKind::Unavailable, fmt::format("nvJPEG has no memory: error {}", code));
  }
  return std::make_unique<NvjpegEngine>(*nvjpeg(), state);
}

}  // namespace kedge::device
