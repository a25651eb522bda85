#include "core/progress.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/terminal.h"
#include "core/units.h"
#include "core/utf8.h"

namespace kedge {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kPlainLine{10};

constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kLeastBarWidth = 8;

// "=====>    " of `width` columns.
std::string draw_bar(double fraction, std::size_t width) {
  const auto filled = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::max(fraction, 0.0) * static_cast<double>(width)), 0, width);
  std::string bar(filled, '=');
  if (filled < width) {
    bar += '>';
    bar.append(width - filled - 1, ' ');
  }
  return bar;
}

// "  ETA 1m03s, all 7m10s"; nothing before the first is done.
std::vector<LinePiece> time_left(const ProgressLine& line) {
  if (line.done <= line.first || (line.done >= line.total && line.more == 0)) {
    return {};
  }
  const double each_s = line.elapsed_s / static_cast<double>(line.done - line.first);
  const double left_s = each_s * static_cast<double>(line.total - line.done);
  const double more_s =
      static_cast<double>(line.more) * (each_s * static_cast<double>(line.total) + line.between_s);
  std::vector<LinePiece> pieces = {{fmt::format("  ETA {}", render_seconds({left_s})), 2}};
  if (line.more > 0) {
    pieces.push_back({fmt::format(", all {}", render_seconds({left_s + more_s})), 3});
  }
  return pieces;
}

}  // namespace

std::string render_progress(const ProgressLine& line) {
  const double fraction =
      line.total > 0 ? static_cast<double>(line.done) / static_cast<double>(line.total) : 0;
  // The bar is as wide as what is left allows.
  const std::string bar_place(kLeastBarWidth, '\0');
  std::vector<LinePiece> pieces = {{std::string(line.title)},
                                   {fmt::format(" [{}]", bar_place), 4},
                                   {fmt::format(" {:3.0f}%", fraction * 100)}};
  if (!line.detail.empty()) {
    pieces.push_back({fmt::format("  {}", line.detail), 1});
  }
  if (line.elapsed_s > 0 && line.items > 0) {
    pieces.push_back(
        {fmt::format("  {} {}/s", render_count(static_cast<double>(line.items) / line.elapsed_s),
                     line.item_name),
         5});
  }
  std::ranges::move(time_left(line), std::back_inserter(pieces));
  std::string text = fit_line(pieces, line.columns);
  if (const std::size_t place = text.find('\0'); place != std::string::npos) {
    const std::size_t spare = line.columns - count_characters(text);
    const std::string bar =
        draw_bar(fraction, std::min(kBarWidth, kLeastBarWidth + std::min(spare, kBarWidth)));
    text.replace(place, kLeastBarWidth, coloured(bar, Colour::Green, line.has_colour));
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
      is_redrawn_(look_at_terminal(STDERR_FILENO).can_redraw) {
  due_ = started_ + (is_redrawn_ ? Clock::duration(kRedraw) : Clock::duration(kPlainLine));
}

Progress::~Progress() {
  clear();
}

bool Progress::advance(std::int64_t done, std::int64_t items) {
  done_ = done;
  items_ = items;
  return Clock::now() >= due_;
}

void Progress::expect_more(std::int64_t count, double between_s) {
  more_ = count;
  between_s_ = between_s;
}

void Progress::draw(std::string_view detail) {
  const Clock::time_point now = Clock::now();
  const Terminal terminal = is_redrawn_ ? look_at_terminal(STDERR_FILENO) : Terminal();
  const std::string line =
      render_progress({.title = title_,
                       .detail = detail,
                       .item_name = item_name_,
                       .first = first_,
                       .done = done_,
                       .total = total_,
                       .items = items_,
                       .elapsed_s = std::chrono::duration<double>(now - started_).count(),
                       .more = more_,
                       .between_s = between_s_,
                       .columns = terminal.columns,
                       .has_colour = terminal.has_colour});
  if (is_redrawn_) {
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
