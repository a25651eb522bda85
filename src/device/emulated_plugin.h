// Runs CUDA kernels as C++ on the CPU, so that tests can hold them to their references on machines
// without a GPU: a source is compiled by the machine's C++ compiler, the threads of a block are
// fibers that take turns at its barriers. Slow, exact where the kernel is, and blind to races.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/file.h"
#include "device/plugin.h"

namespace kedge::device {

// What stands before a kernel's source: CUDA's words in terms of C++.
inline constexpr char kEmulation[] = R"emulation(
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>
#include <ucontext.h>

#define __device__
#define __global__
#define __shared__ static  // one block runs at a time
#define __forceinline__ inline
#define __launch_bounds__(...)

  struct Index {
    unsigned x, y;
  };

  static Index threadIdx, blockIdx, blockDim, gridDim;

  struct alignas(8) uint2 {
    unsigned x, y;
  };

  struct alignas(16) uint4 {
    unsigned x, y, z, w;
  };

  struct alignas(16) float4 {
    float x, y, z, w;
  };

  inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
  }

  inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
  }

  inline float __uint_as_float(unsigned bits) {
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
  }

  inline unsigned __float_as_uint(float f) {
    unsigned bits;
    std::memcpy(&bits, &f, 4);
    return bits;
  }

  inline float __fadd_rn(float a, float b) {
    volatile float c = a + b;
    return c;
  }

  inline float __fmul_rn(float a, float b) {
    volatile float c = a * b;
    return c;
  }

  inline float __fdividef(float x, float y) {
    return x / y;
  }

  inline float __expf(float x) {
    return std::exp(x);
  }

  inline float rsqrtf(float x) {
    return 1 / std::sqrt(x);
  }

  template <class T>
  T __ldcg(const T* from) {
    return *from;
  }

  template <class T>
  T atomicAdd(T* to, T value) {
    const T old = *to;
    *to += value;
    return old;
  }

  inline void __threadfence() {}

  namespace emulation {
  constexpr unsigned kWarp = 32;
  constexpr std::size_t kStack = 65536;
  enum class State { Ready, AtWarp, AtBlock, Done };

  struct Fiber {
    ucontext_t context;
    State state = State::Ready;
    std::unique_ptr<char[]> stack{new char[kStack]};
    unsigned long long slot = 0;  // what it shows the other lanes of its warp
  };

  static std::vector<Fiber> fibers;
  static ucontext_t scheduler;
  static void (*body)() = nullptr;

  inline void wait(State state) {
    Fiber& own = fibers[threadIdx.x];
    own.state = state;
    swapcontext(&own.context, &scheduler);
  }

  inline void run_fiber() {
    body();
    fibers[threadIdx.x].state = State::Done;
  }

  // Runs a warp until each of its threads is done or at a barrier of the block.
  inline void run_warp(unsigned first, unsigned last) {
    for (bool is_moving = true; is_moving;) {
      is_moving = false;
      for (unsigned i = first; i < last; ++i) {
        if (fibers[i].state == State::Ready) {
          threadIdx = {i, 0};
          swapcontext(&scheduler, &fibers[i].context);
        }
      }
      for (unsigned i = first; i < last; ++i) {
        if (fibers[i].state == State::AtWarp) {
          fibers[i].state = State::Ready;
          is_moving = true;
        }
      }
    }
  }

  inline void run_block() {
    const unsigned threads = blockDim.x;
    fibers.resize(threads);
    for (Fiber& fiber : fibers) {
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = &scheduler;
      fiber.state = State::Ready;
      makecontext(&fiber.context, run_fiber, 0);
    }
    for (bool is_moving = true; is_moving;) {
      for (unsigned first = 0; first < threads; first += kWarp) {
        run_warp(first, first + kWarp < threads ? first + kWarp : threads);
      }
      is_moving = false;
      for (Fiber& fiber : fibers) {
        if (fiber.state == State::AtBlock) {
          fiber.state = State::Ready;
          is_moving = true;
        }
      }
    }
  }

  template <class T>
  T from_lane(T value, unsigned lane) {
    std::memcpy(&fibers[threadIdx.x].slot, &value, sizeof value);
    wait(State::AtWarp);
    const unsigned source = threadIdx.x / kWarp * kWarp + lane;
    T result = value;
    if (lane < kWarp && source < fibers.size()) {
      std::memcpy(&result, &fibers[source].slot, sizeof result);
    }
    wait(State::AtWarp);
    return result;
  }

  static void** arguments;

  template <class... Types, std::size_t... I>
  void call(void (*kernel)(Types...), std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_reference_t<Types>*>(arguments[I])...);
  }

  template <class... Types>
  void call(void (*kernel)(Types...)) {
    call(kernel, std::index_sequence_for<Types...>());
  }
  }  // namespace emulation

  inline void __syncthreads() {
    emulation::wait(emulation::State::AtBlock);
  }

  template <class T>
  T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulation::from_lane(value, threadIdx.x % 32 ^ mask);
  }

  template <class T>
  T __shfl_down_sync(unsigned, T value, int offset) {
    return emulation::from_lane(value, threadIdx.x % 32 + offset);
  }
)emulation";

// What stands after it.
inline constexpr char kEmulatedLaunch[] = R"emulation(
extern "C" void emulated_launch(unsigned blocks, unsigned blocks_y, unsigned threads,
                                void** arguments) {
  emulation::arguments = arguments;
  emulation::body = [] { emulation::call(&KERNEL); };
  gridDim = {blocks, blocks_y};
  blockDim = {threads, 1};
  for (unsigned y = 0; y < blocks_y; ++y) {
    for (unsigned x = 0; x < blocks; ++x) {
      blockIdx = {x, y};
      emulation::run_block();
    }
  }
}
)emulation";

class EmulatedPlugin : public Plugin {
 public:
  static bool is_possible() { return std::system("c++ --version >/dev/null 2>&1") == 0; }

  EmulatedPlugin() {
    std::string name = (std::filesystem::temp_directory_path() / "kedge-kernels-XXXXXX").string();
    KEDGE_CHECK(::mkdtemp(name.data()) != nullptr, "tests need a folder to write to");
    folder_ = name;
    ::setenv("XDG_CACHE_HOME", name.c_str(), 1);  // these are no kernels for a user's cache
  }

  ~EmulatedPlugin() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  EmulatedPlugin(const EmulatedPlugin&) = delete;
  EmulatedPlugin& operator=(const EmulatedPlugin&) = delete;

  at::DeviceType device() const override { return at::kCPU; }

  void leave_default_stream() override {}

  std::unique_ptr<Graph> capture(const std::function<void()>& /*work*/) override { return nullptr; }

  std::string target() const override { return "emulated"; }

  Result<std::string> compile(const std::string& source, const std::string& /*name*/) override {
    return source;
  }

  Result<std::unique_ptr<Kernel>> load(const std::string& code,
                                       const std::string& function) override {
    const std::string stem = (folder_ / std::to_string(next_++)).string();
    KEDGE_TRY(write_file_atomic(stem + ".cc", kEmulation + code + kEmulatedLaunch));
    const std::string command = fmt::format(
        "c++ -std=c++17 -O1 -ffp-contract=off -w -shared -fPIC -DKERNEL={1} -o {0}.so {0}.cc "
        "2>{0}.log",
        stem, function);
    if (std::system(command.c_str()) != 0) {
      return fail(ErrorKind::Unavailable, read_file(stem + ".log").value_or(""));
    }
    void* library = ::dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return fail(ErrorKind::Unavailable, ::dlerror());
    }
    return std::make_unique<EmulatedKernel>(
        reinterpret_cast<Launch*>(::dlsym(library, "emulated_launch")));
  }

 private:
  using Launch = void(unsigned blocks, unsigned blocks_y, unsigned threads, void** arguments);

  class EmulatedKernel : public Kernel {
   public:
    explicit EmulatedKernel(Launch* launch) : launch_(launch) {}

    void launch(const Grid& grid, void** arguments) override {
      launch_(grid.blocks, grid.blocks_y, grid.threads, arguments);
    }

   private:
    Launch* launch_;
  };

  Path folder_;
  int next_ = 0;
};

}  // namespace kedge::device
