#include "device/plugin.h"

#include <filesystem>
#include <mutex>

#include <ATen/DeviceAccelerator.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "device/plugin/entry.h"

namespace kedge::device {
namespace {

struct Opened {
  bool has_torch = false;
  std::unique_ptr<Plugin> plugin;
  std::string why_missing = "CUDA was not opened";
};

Opened& opened() {
  static Opened instance;
  return instance;
}

// Beside the program: build/bin/kedge-train and build/lib/libkedge_cuda.so.
std::filesystem::path plugin_path() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "libkedge_cuda.so";
}

void open_plugin(Opened& state) {
  const std::filesystem::path path = plugin_path();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    state.why_missing = ::dlerror();
    return;
  }
  const auto make = reinterpret_cast<MakePlugin>(::dlsym(library, kMakePlugin));
  if (make == nullptr) {
    state.why_missing = fmt::format("{} is not kedge's plugin: {}", path.string(), ::dlerror());
    return;
  }
  auto made = make();
  if (!made) {
    state.why_missing = made.error().message;
    return;
  }
  state.plugin = std::move(*made);
  state.why_missing.clear();
}

}  // namespace

void open(std::int64_t local_rank) {
  static std::once_flag once;
  std::call_once(once, [local_rank] {
    Opened& state = opened();
    if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      state.why_missing = ::dlerror();
      return;
    }
    state.has_torch = true;
    // Before the plugin is made: its kernels belong to one device.
    if (const std::int64_t count = at::accelerator::deviceCount(); count > 1) {
      at::accelerator::setDeviceIndex(static_cast<c10::DeviceIndex>(local_rank % count));
    }
    open_plugin(state);
  });
}

Plugin* plugin() {
  return opened().plugin.get();
}

const std::string& why_missing() {
  return opened().why_missing;
}

bool has_torch_cuda() {
  return opened().has_torch;
}

}  // namespace kedge::device
