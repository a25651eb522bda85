// A progress bar with rate and time left: one line redrawn on a terminal, plain lines now and
// then elsewhere. It costs a clock read when there is nothing to draw.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace kedge {

class Progress {
 public:
  // `item_name` is what the rate counts: "samples", "tokens".
  // A resumed piece of work begins at `first`; the rate and the time left are of what comes.
  Progress(std::string title, std::int64_t total, std::string item_name, std::int64_t first = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // After this come `count` more bars as long, each with `between_s` before it: then the time left
  // of all is shown too.
  void expect_more(std::int64_t count, double between_s);

  // `done` of the total, `items` since the start of this bar. Returns true when a line is due; then
  // call draw().
  bool advance(std::int64_t done, std::int64_t items);

  // `detail` is what the caller wants shown besides, e.g. "loss 0.1234".
  void draw(std::string_view detail);

  // Clears the bar, so that other lines can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string title_;
  std::int64_t total_;
  std::string item_name_;
  Clock::time_point started_;
  Clock::time_point due_;
  std::int64_t first_;
  std::int64_t done_ = 0;
  std::int64_t items_ = 0;
  std::int64_t more_ = 0;
  double between_s_ = 0;
  bool is_redrawn_;
  bool is_drawn_ = false;
};

// The line itself: "epoch 2/5 [=====>    ]  40%  loss 0.51  12.4k samples/s  ETA 1m03s, all 7m10s",
// or as much of it as fits.
struct ProgressLine {
  std::string_view title;
  std::string_view detail;
  std::string_view item_name;
  std::int64_t first = 0;  // where the work began
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::int64_t items = 0;
  double elapsed_s = 0;
  std::int64_t more = 0;  // bars as long that come after it,
  double between_s = 0;   // and the time before each
  std::size_t columns = std::numeric_limits<std::size_t>::max();
  bool has_colour = false;
};

std::string render_progress(const ProgressLine& line);

}  // namespace kedge
