// The board on which the ranks of one machine show where they are, and which their supervisor
// reads: shared memory, one slot a rank, written without locks or system calls. It tells a slow
// rank from a hung one and says what the hung one was doing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/file.h"
#include "core/result.h"

namespace kedge::ranks {

enum class RankPhase : std::uint32_t {
  Starting,
  Meeting,    // waits for the other ranks
  Preparing,  // data, model, checkpoint
  Data,       // waits for a batch
  Compute,
  InCollective,  // waits for other ranks in one
  Saving,
  Validating,
  Lost,  // ends because another rank is gone
  Done,
};

std::string_view name_of(RankPhase phase);

// What the ranks do together, by what it is for.
enum class Collective : std::uint32_t {
  None,
  Gradients,
  AllReduce,
  Broadcast,
  AllGather,
  Barrier,
  Norm,
  ReduceScatter,
  AllToAll,
  Send,
  Receive
};

std::string_view name_of(Collective collective);

// Plain numbers only: the two sides may be different programs of one build.
struct RankSlot {
  std::atomic<std::int64_t> pid{0};
  std::atomic<std::int64_t> beat_ms{0};  // of the last change of the place below; monotonic clock
  std::atomic<std::int64_t> step{-1};    // finished optimizer steps; -1: not training yet
  std::atomic<std::int64_t> epoch{0};
  std::atomic<RankPhase> phase{RankPhase::Starting};
  std::atomic<Collective> collective{Collective::None};  // the last one
  std::atomic<std::int64_t> collectives{0};              // begun so far
  std::atomic<std::int64_t> finished_collectives{0};
  // Where the time of the steps went, all since the start.
  std::atomic<std::int64_t> data_us{0};
  std::atomic<std::int64_t> collective_us{0};
  std::atomic<std::int64_t> train_us{0};  // all of them, and computing
  char run_id[128] = {};                  // rank 0's, once it has one: what a restart goes on with
  char memory[256] = {};                  // the folder that it keeps in memory for a restart
};

std::int64_t monotonic_ms();

class RankBoard {
 public:
  // In memory that children inherit.
  static Result<RankBoard> create(std::size_t ranks);

  RankBoard(RankBoard&& other) noexcept;
  RankBoard& operator=(RankBoard&&) = delete;
  ~RankBoard();

  int fd() const { return fd_.get(); }

  std::size_t size() const { return size_; }

  RankSlot& slot(std::size_t index) { return slots_[index]; }

  void clear();

 private:
  RankBoard(OwnedFd fd, RankSlot* slots, std::size_t size)
      : fd_(std::move(fd)), slots_(slots), size_(size) {}

  OwnedFd fd_;
  RankSlot* slots_ = nullptr;
  std::size_t size_ = 0;
};

// "FD:INDEX" of the board that the supervisor made.
inline constexpr const char* kBoardVariable = "KEDGE_RANK_BOARD";

// This process's slot; one that nobody looks at where there is no supervisor.
RankSlot& own_slot();

// Shows where this process is.
void show_phase(RankPhase phase);
void show_step(std::int64_t epoch, std::int64_t step);
void show_run(std::string_view id);
void show_memory(std::string_view folder);

// Shows the phase while it lives, adds its time to `us`, and shows the phase before at the end.
class TimedPhase {
 public:
  TimedPhase(RankPhase phase, std::atomic<std::int64_t>& us);
  TimedPhase(const TimedPhase&) = delete;
  TimedPhase& operator=(const TimedPhase&) = delete;
  ~TimedPhase();

 private:
  RankPhase before_;
  std::atomic<std::int64_t>& us_;
  std::int64_t started_us_;
};

}  // namespace kedge::ranks
