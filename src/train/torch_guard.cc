#include "train/torch_guard.h"

#include <exception>
#include <new>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "dist/process_group.h"
#include "nn/torch_error.h"
#include "ranks/rank_board.h"

namespace kedge::train {
namespace {

constexpr const char* kMemoryHint =
    "lower loader.batch_size (train.accumulate keeps the effective batch), try "
    "train.precision=bf16, or use a smaller model";

}  // namespace

Result<void> catch_torch(const std::function<Result<void>()>& work) {
  try {
    return work();
  } catch (const c10::OutOfMemoryError& error) {
    return fail(ErrorKind::Unavailable, "the GPU is out of memory: " + nn::torch_message(error),
                kMemoryHint);
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::Unavailable, "this machine is out of memory", kMemoryHint);
  } catch (const dist::PeerError& error) {
    ranks::show_phase(ranks::RankPhase::Lost);
    return fail(ErrorKind::Unavailable, error.what(), "its own messages say why");
  } catch (const std::exception& error) {
    const std::string message = nn::torch_message(error);
    // Its allocator for the CPU has no exception of its own.
    if (message.find("DefaultCPUAllocator") != std::string::npos) {
      return fail(ErrorKind::Unavailable, "this machine is out of memory: " + message, kMemoryHint);
    }
    return fail(ErrorKind::Io, "libtorch: " + message);
  }
}

}  // namespace kedge::train
