#include "core/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "core/units.h"

namespace kedge {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kPlainLine{10};

}  // namespace

std::string render_progress(const ProgressLine& line) {
  constexpr std::int64_t kWidth = 24;
  const double fraction =
      line.total > 0 ? static_cast<double>(line.done) / static_cast<double>(line.total) : 0;
  const auto filled = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(fraction * static_cast<double>(kWidth)), 0, kWidth);
  std::string bar(static_cast<std::size_t>(filled), '=');
  if (filled < kWidth) {
    bar += '>';
    bar.append(static_cast<std::size_t>(kWidth - filled - 1), ' ');
  }
  std::string text = fmt::format("{} [{}] {:3.0f}%", line.title, bar, fraction * 100);
  if (!line.detail.empty()) {
    text += fmt::format("  {}", line.detail);
  }
  if (line.elapsed_s > 0 && line.items > 0) {
    text += fmt::format("  {} {}/s", render_count(static_cast<double>(line.items) / line.elapsed_s),
                        line.item_name);
  }
  if (line.done > line.first && line.done < line.total) {
    const double left_s = line.elapsed_s * static_cast<double>(line.total - line.done) /
                          static_cast<double>(line.done - line.first);
    text += fmt::format("  ETA {}", render_seconds({left_s}));
  }
  return text;
}

Progress::Progress(std::string title, std::int64_t total, std::string item_name, std::int64_t first)
    : title_(std::move(title)),
      total_(total),
      item_name_(std::move(item_name)),
      started_(Clock::now()),
      first_(first),
      done_(first),
      is_terminal_(isatty(STDERR_FILENO) != 0) {
  due_ = started_ + (is_terminal_ ? Clock::duration(kRedraw) : Clock::duration(kPlainLine));
}

Progress::~Progress() {
  clear();
}

bool Progress::advance(std::int64_t done, std::int64_t items) {
  done_ = done;
  items_ = items;
  return Clock::now() >= due_;
}

void Progress::draw(std::string_view detail) {
  const Clock::time_point now = Clock::now();
  const std::string line =
      render_progress({.title = title_,
                       .detail = detail,
                       .item_name = item_name_,
                       .first = first_,
                       .done = done_,
                       .total = total_,
                       .items = items_,
                       .elapsed_s = std::chrono::duration<double>(now - started_).count()});
  if (is_terminal_) {
    std::fputs(("\r\033[K" + line).c_str(), stderr);
    std::fflush(stderr);
    is_drawn_ = true;
    due_ = now + kRedraw;
  } else {
    std::fputs((line + "\n").c_str(), stderr);
    due_ = now + kPlainLine;
  }
}

void Progress::clear() {
  if (is_drawn_) {
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    is_drawn_ = false;
  }
}

}  // namespace kedge
