#include "device/plugin/nccl.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include "device/plugin/library.h"

namespace kedge::device {
namespace {

using NcclComm = struct NcclCommTag*;

struct NcclId {
  std::array<char, 128> bytes;
};

constexpr int kSuccess = 0;
constexpr int kInProgress = 7;

struct Nccl {
  int (*version)(int*);
  int (*make_id)(NcclId*);
  int (*join)(NcclComm*, int size, NcclId, int rank);
  int (*all_reduce)(const void*, void*, std::size_t count, int type, int operation, NcclComm,
                    cudaStream_t);
  int (*broadcast)(const void*, void*, std::size_t count, int type, int root, NcclComm,
                   cudaStream_t);
  int (*reduce_scatter)(const void*, void*, std::size_t output_count, int type, int operation,
                        NcclComm, cudaStream_t);
  int (*all_gather)(const void*, void*, std::size_t input_count, int type, NcclComm, cudaStream_t);
  int (*send)(const void*, std::size_t count, int type, int to, NcclComm, cudaStream_t);
  int (*receive)(void*, std::size_t count, int type, int from, NcclComm, cudaStream_t);
  int (*begin_group)();
  int (*end_group)();
  int (*async_error)(NcclComm, int*);
  int (*abort)(NcclComm);
  int (*destroy)(NcclComm);
  const char* (*error_text)(int);
};

Result<Nccl> open_nccl() {
  void* library = open_library({"libnccl.so.2"});
  Nccl nccl{};
  if (library == nullptr || !find_symbol(library, "ncclGetVersion", nccl.version) ||
      !find_symbol(library, "ncclGetUniqueId", nccl.make_id) ||
      !find_symbol(library, "ncclCommInitRank", nccl.join) ||
      !find_symbol(library, "ncclAllReduce", nccl.all_reduce) ||
      !find_symbol(library, "ncclBroadcast", nccl.broadcast) ||
      !find_symbol(library, "ncclReduceScatter", nccl.reduce_scatter) ||
      !find_symbol(library, "ncclAllGather", nccl.all_gather) ||
      !find_symbol(library, "ncclSend", nccl.send) ||
      !find_symbol(library, "ncclRecv", nccl.receive) ||
      !find_symbol(library, "ncclGroupStart", nccl.begin_group) ||
      !find_symbol(library, "ncclGroupEnd", nccl.end_group) ||
      !find_symbol(library, "ncclCommGetAsyncError", nccl.async_error) ||
      !find_symbol(library, "ncclCommAbort", nccl.abort) ||
      !find_symbol(library, "ncclCommDestroy", nccl.destroy) ||
      !find_symbol(library, "ncclGetErrorString", nccl.error_text)) {
    return fail(ErrorKind::Unavailable, fmt::format("NCCL cannot be opened: {}", ::dlerror()));
  }
  return nccl;
}

// ncclDataType_t
int type_of(at::ScalarType type) {
  switch (type) {
    case at::kChar:
      return 0;
    case at::kByte:
    case at::kBool:
      return 1;
    case at::kInt:
      return 2;
    case at::kLong:
      return 4;
    case at::kHalf:
      return 6;
    case at::kFloat:
      return 7;
    case at::kDouble:
      return 8;
    case at::kBFloat16:
      return 9;
    default:
      TORCH_CHECK(false, "NCCL has no type for ", type);
  }
}

// ncclRedOp_t
int operation_of(Reduce reduce) {
  return reduce == Reduce::Max ? 2 : 0;
}

// A point in a stream's work. Not libtorch's: its header needs those of cuBLAS and more.
class StreamPoint {
 public:
  explicit StreamPoint(cudaStream_t stream) {
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    C10_CUDA_CHECK(cudaEventRecord(event_, stream));
  }

  StreamPoint(const StreamPoint&) = delete;
  StreamPoint& operator=(const StreamPoint&) = delete;

  ~StreamPoint() { cudaEventDestroy(event_); }

  // What `stream` is asked for from now on comes after it.
  void hold(cudaStream_t stream) const { C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_, 0)); }

 private:
  cudaEvent_t event_ = nullptr;
};

class StreamWork : public DeviceWork {
 public:
  explicit StreamWork(cudaStream_t stream) : done_(stream) {}

  void wait() override { done_.hold(c10::cuda::getCurrentCUDAStream().stream()); }

 private:
  StreamPoint done_;
};

class NcclGroup : public DeviceGroup {
 public:
  NcclGroup(const Nccl& nccl, NcclComm comm)
      : nccl_(nccl),
        comm_(comm),
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true)),
        watch_([this] { watch(); }) {}

  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // Destroying waits for the other ranks, who may be gone when something was thrown.
  ~NcclGroup() override {
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    watch_.join();
    if (!is_aborted_) {
      std::uncaught_exceptions() > 0 ? nccl_.abort(comm_) : nccl_.destroy(comm_);
    }
  }

  std::unique_ptr<DeviceWork> all_reduce(const at::Tensor& tensor, Reduce reduce) override {
    return enqueue({tensor}, [&](cudaStream_t stream) {
      return nccl_.all_reduce(tensor.const_data_ptr(), tensor.mutable_data_ptr(), count(tensor),
                              type_of(tensor.scalar_type()), operation_of(reduce), comm_, stream);
    });
  }

  std::unique_ptr<DeviceWork> broadcast(const at::Tensor& tensor, int root) override {
    return enqueue({tensor}, [&](cudaStream_t stream) {
      return nccl_.broadcast(tensor.const_data_ptr(), tensor.mutable_data_ptr(), count(tensor),
                             type_of(tensor.scalar_type()), root, comm_, stream);
    });
  }

  std::unique_ptr<DeviceWork> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                             Reduce reduce) override {
    return enqueue({output, input}, [&](cudaStream_t stream) {
      return nccl_.reduce_scatter(input.const_data_ptr(), output.mutable_data_ptr(), count(output),
                                  type_of(input.scalar_type()), operation_of(reduce), comm_,
                                  stream);
    });
  }

  std::unique_ptr<DeviceWork> all_gather(const at::Tensor& output,
                                         const at::Tensor& input) override {
    return enqueue({output, input}, [&](cudaStream_t stream) {
      return nccl_.all_gather(input.const_data_ptr(), output.mutable_data_ptr(), count(input),
                              type_of(input.scalar_type()), comm_, stream);
    });
  }

  std::unique_ptr<DeviceWork> all_to_all(const at::Tensor& output, const at::Tensor& input,
                                         const Pieces& pieces) override {
    return enqueue({output, input},
                   [&](cudaStream_t stream) { return exchange(output, input, pieces, stream); });
  }

  std::unique_ptr<DeviceWork> send(const at::Tensor& tensor, int to) override {
    return enqueue({tensor}, [&](cudaStream_t stream) {
      return nccl_.send(tensor.const_data_ptr(), count(tensor), type_of(tensor.scalar_type()), to,
                        comm_, stream);
    });
  }

  std::unique_ptr<DeviceWork> receive(const at::Tensor& tensor, int from) override {
    return enqueue({tensor}, [&](cudaStream_t stream) {
      return nccl_.receive(tensor.mutable_data_ptr(), count(tensor), type_of(tensor.scalar_type()),
                           from, comm_, stream);
    });
  }

 private:
  static std::size_t count(const at::Tensor& tensor) {
    return static_cast<std::size_t>(tensor.numel());
  }

  // NCCL has no all-to-all of its own: all sends and receives as one operation. Empty messages
  // would make ranks wait for each other.
  int exchange(const at::Tensor& output, const at::Tensor& input, const Pieces& pieces,
               cudaStream_t stream) {
    const int type = type_of(input.scalar_type());
    const auto bytes = static_cast<std::int64_t>(input.element_size());
    const char* from = static_cast<const char*>(input.const_data_ptr());
    char* to = static_cast<char*>(output.mutable_data_ptr());
    int code = nccl_.begin_group();
    for (std::size_t i = 0; i < pieces.input.size() && code == kSuccess; ++i) {
      const int rank = static_cast<int>(i);
      if (const auto length = static_cast<std::size_t>(pieces.input[i]); length > 0) {
        code = nccl_.send(from, length, type, rank, comm_, stream);
      }
      if (const auto length = static_cast<std::size_t>(pieces.output[i]);
          length > 0 && code == kSuccess) {
        code = nccl_.receive(to, length, type, rank, comm_, stream);
      }
      from += pieces.input[i] * bytes;
      to += pieces.output[i] * bytes;
    }
    const int end_code = nccl_.end_group();
    return code == kSuccess ? end_code : code;
  }

  // After all that the current stream has been asked for.
  std::unique_ptr<DeviceWork> enqueue(at::TensorList tensors,
                                      const std::function<int(cudaStream_t)>& call) {
    for (const at::Tensor& tensor : tensors) {
      TORCH_CHECK(tensor.is_non_overlapping_and_dense(), "NCCL takes dense tensors");
    }
    TORCH_CHECK(!is_aborted_, "NCCL: ", nccl_.error_text(async_error_));
    StreamPoint(c10::cuda::getCurrentCUDAStream().stream()).hold(stream_.stream());
    const int code = call(stream_.stream());
    TORCH_CHECK(code == kSuccess || code == kInProgress, "NCCL: ", nccl_.error_text(code));
    return std::make_unique<StreamWork>(stream_.stream());
  }

  // A peer that is gone shows here; without the abort its kernel would turn for ever.
  void watch() {
    constexpr auto kEvery = std::chrono::milliseconds(200);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kEvery, [this] { return is_stopping_; })) {
      int error = kSuccess;
      if (nccl_.async_error(comm_, &error) == kSuccess && error != kSuccess &&
          error != kInProgress) {
        async_error_ = error;
        nccl_.abort(comm_);
        is_aborted_ = true;
        return;
      }
    }
  }

  Nccl nccl_;
  NcclComm comm_;
  c10::cuda::CUDAStream stream_;
  std::atomic<bool> is_aborted_ = false;
  std::atomic<int> async_error_ = kSuccess;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopping_ = false;
  std::thread watch_;  // last: it starts when all else is there
};

}  // namespace

Result<std::string> nccl_version() {
  const Nccl nccl = KEDGE_TRY(open_nccl());
  int number = 0;  // 22809 is 2.28.9
  nccl.version(&number);
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

Result<std::string> make_nccl_id() {
  const Nccl nccl = KEDGE_TRY(open_nccl());
  NcclId id{};
  if (const int code = nccl.make_id(&id); code != kSuccess) {
    return fail(ErrorKind::Unavailable, fmt::format("NCCL: {}", nccl.error_text(code)));
  }
  return std::string(id.bytes.data(), id.bytes.size());
}

Result<std::unique_ptr<DeviceGroup>> join_nccl(const DeviceGroupPlace& place) {
  const Nccl nccl = KEDGE_TRY(open_nccl());
  NcclId id{};
  KEDGE_CHECK(place.id.size() == id.bytes.size(), "an id is NCCL's own");
  std::memcpy(id.bytes.data(), place.id.data(), id.bytes.size());
  NcclComm comm = nullptr;
  if (const int code = nccl.join(&comm, place.size, id, place.rank); code != kSuccess) {
    return fail(
        ErrorKind::Unavailable,
        fmt::format("NCCL: rank {} of {}: {}", place.rank, place.size, nccl.error_text(code)),
        "dist.debug=true lets NCCL say more; dist.backend=gloo does without it");
  }
  return std::make_unique<NcclGroup>(nccl, comm);
}

}  // namespace kedge::device
