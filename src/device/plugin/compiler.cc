#include "device/plugin/compiler.h"

#include <vector>

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <fmt/format.h>

#include "device/plugin/library.h"

namespace kedge::device {
namespace {

using NvrtcProgram = struct NvrtcProgramTag*;

// nvrtc.h is in a wheel of 90 MB; these eight have not changed since CUDA 7.
struct Nvrtc {
  int (*create)(NvrtcProgram*, const char* source, const char* name, int header_count,
                const char* const* headers, const char* const* include_names);
  int (*compile)(NvrtcProgram, int option_count, const char* const* options);
  int (*cubin_size)(NvrtcProgram, std::size_t*);
  int (*cubin)(NvrtcProgram, char*);
  int (*log_size)(NvrtcProgram, std::size_t*);
  int (*log)(NvrtcProgram, char*);
  int (*destroy)(NvrtcProgram*);
  int (*version)(int*, int*);
};

struct Driver {
  CUresult (*load)(CUmodule*, const void* image);
  CUresult (*find)(CUfunction*, CUmodule, const char* name);
  CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     unsigned shared_bytes, CUstream, void** arguments, void** extra);
  CUresult (*error_name)(CUresult, const char**);
};

Result<Nvrtc> open_nvrtc() {
  void* library = open_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  Nvrtc nvrtc{};
  if (library == nullptr || !find_symbol(library, "nvrtcCreateProgram", nvrtc.create) ||
      !find_symbol(library, "nvrtcCompileProgram", nvrtc.compile) ||
      !find_symbol(library, "nvrtcGetCUBINSize", nvrtc.cubin_size) ||
      !find_symbol(library, "nvrtcGetCUBIN", nvrtc.cubin) ||
      !find_symbol(library, "nvrtcGetProgramLogSize", nvrtc.log_size) ||
      !find_symbol(library, "nvrtcGetProgramLog", nvrtc.log) ||
      !find_symbol(library, "nvrtcDestroyProgram", nvrtc.destroy) ||
      !find_symbol(library, "nvrtcVersion", nvrtc.version)) {
    return fail(ErrorKind::Unavailable, fmt::format("NVRTC cannot be opened: {}", ::dlerror()));
  }
  return nvrtc;
}

Result<Driver> open_driver() {
  void* library = open_library({"libcuda.so.1"});
  Driver driver{};
  if (library == nullptr || !find_symbol(library, "cuModuleLoadData", driver.load) ||
      !find_symbol(library, "cuModuleGetFunction", driver.find) ||
      !find_symbol(library, "cuLaunchKernel", driver.launch) ||
      !find_symbol(library, "cuGetErrorName", driver.error_name)) {
    return fail(ErrorKind::Unavailable,
                fmt::format("the CUDA driver cannot be opened: {}", ::dlerror()));
  }
  return driver;
}

std::string name_of(const Driver& driver, CUresult code) {
  const char* name = nullptr;
  driver.error_name(code, &name);
  return name == nullptr ? fmt::format("error {}", static_cast<int>(code)) : name;
}

class CudaKernel : public Kernel {
 public:
  CudaKernel(const Driver& driver, CUfunction function, std::string name)
      : driver_(driver), function_(function), name_(std::move(name)) {}

  void launch(const Grid& grid, void** arguments) override {
    const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
    const auto try_launch = [&] {
      return driver_.launch(function_, grid.blocks, grid.blocks_y, 1, grid.threads, 1, 1, 0,
                            stream.stream(), arguments, nullptr);
    };
    CUresult code = try_launch();
    if (code == CUDA_ERROR_INVALID_CONTEXT) {
      // A thread of autograd's for which the runtime, which makes the context current, has done
      // nothing yet.
      c10::cuda::set_device(stream.device_index(), /*force=*/true);
      code = try_launch();
    }
    TORCH_CHECK(code == CUDA_SUCCESS, "kernel ", name_, ": ", name_of(driver_, code));
  }

 private:
  Driver driver_;
  CUfunction function_;
  std::string name_;
};

class NvrtcCompiler : public Compiler {
 public:
  NvrtcCompiler(const Nvrtc& nvrtc, const Driver& driver, std::string architecture)
      : nvrtc_(nvrtc), driver_(driver), architecture_(std::move(architecture)) {
    nvrtc_.version(&major_, &minor_);
  }

  std::string target() const override {
    return fmt::format("{}, NVRTC {}.{}", architecture_, major_, minor_);
  }

  Result<std::unique_ptr<Kernel>> load(const std::string& code,
                                       const std::string& function) override {
    CUmodule module = nullptr;
    if (const CUresult status = driver_.load(&module, code.data()); status != CUDA_SUCCESS) {
      return fail(ErrorKind::Unavailable, fmt::format("kernel {}: cannot be loaded: {}", function,
                                                      name_of(driver_, status)));
    }
    CUfunction found = nullptr;
    if (const CUresult status = driver_.find(&found, module, function.c_str());
        status != CUDA_SUCCESS) {
      return fail(ErrorKind::Unavailable, fmt::format("kernel {}: not in its source: {}", function,
                                                      name_of(driver_, status)));
    }
    return std::make_unique<CudaKernel>(driver_, found, function);
  }

  Result<std::string> compile(const std::string& source, const std::string& name) override {
    NvrtcProgram program = nullptr;
    nvrtc_.create(&program, source.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr);
    const std::string target = "--gpu-architecture=" + architecture_;
    const std::vector<const char*> options = {target.c_str(), "--std=c++17", "--fmad=true"};
    const int code = nvrtc_.compile(program, static_cast<int>(options.size()), options.data());
    std::string text;
    std::size_t size = 0;
    if (code != 0) {
      nvrtc_.log_size(program, &size);
      text.resize(size);
      nvrtc_.log(program, text.data());
      nvrtc_.destroy(&program);
      return fail(ErrorKind::Unavailable, fmt::format("kernel {}: {}", name, text));
    }
    nvrtc_.cubin_size(program, &size);
    text.resize(size);
    nvrtc_.cubin(program, text.data());
    nvrtc_.destroy(&program);
    return text;
  }

 private:
  Nvrtc nvrtc_;
  Driver driver_;
  std::string architecture_;
  int major_ = 0;
  int minor_ = 0;
};

}  // namespace

Result<std::unique_ptr<Compiler>> make_compiler() {
  const Nvrtc nvrtc = KEDGE_TRY(open_nvrtc());
  const Driver driver = KEDGE_TRY(open_driver());
  int major = 0;
  int minor = 0;
  const int device = c10::cuda::current_device();
  cudaSetDevice(device);  // makes its context, which the driver's calls need
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return std::make_unique<NvrtcCompiler>(nvrtc, driver, fmt::format("sm_{}{}", major, minor));
}

}  // namespace kedge::device
