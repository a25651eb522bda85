#include "train/internal/waits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <vector>

#include <ATen/record_function.h>
#include <fmt/format.h>

#include "core/result.h"

namespace kedge::train {
namespace {

// What ends in a number, or a shape that depends on numbers, on the host.
constexpr auto kReads = std::to_array<std::string_view>(
    {"aten::_local_scalar_dense", "aten::nonzero", "aten::equal", "aten::masked_select",
     "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive", "aten::bincount"});

// CPU kernels that read their arguments while CUDA's take them as tensors.
constexpr auto kReadOnlyOnCpu = std::to_array<std::string_view>(
    {"aten::_fused_sgd_", "aten::_fused_adam_", "aten::_fused_adamw_", "aten::masked_fill_",
     "aten::_amp_update_scale_"});

bool is_among(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The operations that this thread is in, outermost first.
thread_local std::vector<const char*> stack;

bool has_tensor_on(c10::ArrayRef<const c10::IValue> inputs, c10::Device device) {
  return std::ranges::any_of(inputs, [&](const c10::IValue& input) {
    return input.isTensor() && input.toTensor().defined() &&
           input.toTensor().device().type() == device.type();
  });
}

// copy_(to, from, non_blocking) between the device and pageable memory, either way.
bool is_waiting_copy(c10::ArrayRef<const c10::IValue> inputs) {
  if (inputs.size() < 2 || !inputs[0].isTensor() || !inputs[1].isTensor()) {
    return false;
  }
  const at::Tensor& to = inputs[0].toTensor();
  const at::Tensor& from = inputs[1].toTensor();
  if (to.device().type() == from.device().type()) {
    return false;
  }
  const bool is_non_blocking = inputs.size() > 2 && inputs[2].isBool() && inputs[2].toBool();
  const at::Tensor& on_host = to.is_cpu() ? to : from;
  return !is_non_blocking || !on_host.is_pinned();
}

}  // namespace

// libtorch calls plain functions, so the one that watches is known to all.
class Waits::Watch::Observer {
 public:
  explicit Observer(Waits& waits) : waits_(waits) {
    Observer* none = nullptr;
    KEDGE_CHECK(current.compare_exchange_strong(none, this), "one watch at a time");
    ++waits.watches_;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(enter, leave)
                                        .needsInputs(true)
                                        .scopes({at::RecordScope::FUNCTION}));
  }

  ~Observer() {
    at::removeCallback(handle_);
    current = nullptr;
  }

  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

 private:
  static std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
    if (Observer* observer = current) {
      observer->see(function);
    }
    stack.push_back(function.name());
    return nullptr;
  }

  static void leave(const at::RecordFunction&, at::ObserverContext*) {
    // Empty where the watch began inside an operation.
    if (!stack.empty()) {
      stack.pop_back();
    }
  }

  void see(const at::RecordFunction& function) {
    const std::string_view name = function.name();
    const bool is_read = is_among(kReads, name) && has_tensor_on(function.inputs(), waits_.device_);
    const bool is_copy = name == "aten::copy_" && is_waiting_copy(function.inputs());
    if (!is_read && !is_copy) {
      return;
    }
    const bool is_of_cpu =
        waits_.device_.is_cpu() && std::ranges::any_of(stack, [](const char* outer) {
          return is_among(kReadOnlyOnCpu, outer);
        });
    if (!is_of_cpu) {
      const std::lock_guard lock(waits_.mutex_);
      ++waits_.found_[stack.empty() ? std::string(name) : std::string(stack.front())];
    }
  }

  static inline std::atomic<Observer*> current = nullptr;

  Waits& waits_;
  at::CallbackHandle handle_;
};

Waits::Watch::Watch(Waits* waits)
    : observer_(waits == nullptr ? nullptr : std::make_unique<Observer>(*waits)) {}

Waits::Watch::~Watch() = default;

std::map<std::string, std::int64_t> Waits::found() const {
  const std::lock_guard lock(mutex_);
  return found_;
}

std::map<std::string, double> Waits::per_watch() const {
  std::map<std::string, double> shares;
  for (const auto& [operation, count] : found()) {
    shares[operation] =
        static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(watches_, 1));
  }
  return shares;
}

std::vector<std::string> Waits::describe() const {
  std::vector<std::string> lines;
  for (const auto& [operation, per_step] : per_watch()) {
    lines.push_back(fmt::format("{} {:.1f} times a step", operation, per_step));
  }
  if (lines.empty()) {
    lines.emplace_back("none: a step reads nothing back from the device");
  }
  return lines;
}

}  // namespace kedge::train
