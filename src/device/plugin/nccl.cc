#include "device/plugin/nccl.h"

#include <fmt/format.h>

#if __has_include(<nccl.h>)
#define USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace kedge::device {
namespace {

struct Version {
  std::uint64_t major;
  std::uint64_t minor;
  std::uint64_t patch;
};

// Of the library that this process has.
Version version_here() {
  const std::uint64_t packed = torch::cuda::nccl::version();
  return {packed >> 32, packed >> 16 & 0xffff, packed & 0xffff};
}

class C10dNccl : public Nccl {
 public:
  std::string version() const override {
    const auto [major, minor, patch] = version_here();
    return fmt::format("{}.{}.{}", major, minor, patch);
  }

  c10::intrusive_ptr<c10d::Backend> join(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                         int size, std::chrono::milliseconds timeout) override {
    auto options = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
    options->timeout = timeout;
    auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, options);
    // All calls, transfers too, share this one communicator and are done in their order.
    group->eagerConnectSingleDevice({at::kCUDA, c10::cuda::current_device()});
    return group;
  }
};

}  // namespace

Result<Nccl*> find_nccl() {
  static C10dNccl nccl;
  // The group's options hold a structure of nccl.h, which grows from version to version.
  const auto [major, minor, patch] = version_here();
  if (major != NCCL_MAJOR || minor != NCCL_MINOR) {
    return fail(ErrorKind::Unavailable,
                fmt::format("the GPU plugin was built for NCCL {}.{}, libtorch has {}.{}.{} here",
                            NCCL_MAJOR, NCCL_MINOR, major, minor, patch));
  }
  return &nccl;
}

}  // namespace kedge::device

#else

namespace kedge::device {

Result<Nccl*> find_nccl() {
  return fail(ErrorKind::Unavailable, "the GPU plugin was built without NCCL's header");
}

}  // namespace kedge::device

#endif
