#include "device/instruction_set.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <cpuid.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/nn/functional/conv.h>
#include <torch/version.h>
#include <unistd.h>

#include "core/host_name.h"
#include "core/user_folders.h"

namespace kedge::device {
namespace {

constexpr const char* kLimitVariable = "ONEDNN_MAX_CPU_ISA";

// From the newest to one that every processor libtorch runs fast on has.
constexpr auto kLimits = std::to_array<const char*>({"", "AVX512_CORE_FP16", "AVX2"});

// Runs in the child.
[[noreturn]] void try_product(const char* limit, const std::function<void()>& product) {
  const rlimit no_core = {};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (*limit != '\0') {
    ::setenv(kLimitVariable, limit, 1);
  }
  product();
  ::_exit(0);
}

bool survives(const char* limit, const std::function<void()>& product) {
  const pid_t child = ::fork();
  if (child == 0) {
    try_product(limit, product);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // Where no process can be made nothing is known, and nothing is changed.
  return child < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A matrix product and a convolution, in the shapes for which oneDNN takes its tiles.
void multiply_bf16() {
  at::set_num_threads(1);
  const auto options = at::TensorOptions().dtype(at::kBFloat16);
  const at::Tensor matrix = at::ones({64, 64}, options);
  at::matmul(matrix, matrix);
  const at::Tensor images = at::ones({2, 64, 16, 16}, options);
  at::conv2d(images, at::ones({64, 64, 3, 3}, options));
}

// Where and with what a trial was made: another boot may be on another machine.
std::string trial_circumstances() {
  const std::string boot = read_file("/proc/sys/kernel/random/boot_id").value_or("?\n");
  return fmt::format("torch {} boot {}", TORCH_VERSION, boot);
}

}  // namespace

bool announces_amx() {
#ifdef __x86_64__
  constexpr unsigned kTiles = 1U << 24U;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return ::__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTiles) != 0;
#else
  return false;
#endif
}

std::string find_instruction_limit(const std::function<void()>& product) {
  for (const char* limit : kLimits) {
    if (survives(limit, product)) {
      return limit;
    }
  }
  return {};
}

std::string remembered_instruction_limit(const Path& memory, const std::function<void()>& product) {
  const std::string circumstances = trial_circumstances();
  const auto known = read_file(memory);
  if (known && known->starts_with(circumstances)) {
    const std::string limit = known->substr(circumstances.size());
    return limit.substr(0, limit.find('\n'));
  }
  std::string limit = find_instruction_limit(product);
  std::error_code ignored;
  std::filesystem::create_directories(memory.parent_path(), ignored);
  static_cast<void>(write_file_atomic(memory, circumstances + limit + "\n"));
  return limit;
}

std::string limit_instruction_set() {
  if (std::getenv(kLimitVariable) != nullptr || !announces_amx()) {
    return {};
  }
  // One file a host: a home folder is often shared by a whole cluster.
  std::string limit =
      remembered_instruction_limit(cache_folder() / "cpu" / host_name(), multiply_bf16);
  if (!limit.empty()) {
    ::setenv(kLimitVariable, limit.c_str(), 1);
  }
  return limit;
}

}  // namespace kedge::device
