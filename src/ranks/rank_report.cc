#include "ranks/rank_report.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"

namespace kedge::ranks {
namespace {

// The third word of /proc/PID/stat, after the name in brackets, which may hold anything.
char read_state(std::int64_t pid) {
  const auto text = read_file(Path(fmt::format("/proc/{}/stat", pid)));
  if (!text) {
    return 'X';
  }
  const std::size_t bracket = text->rfind(')');
  return bracket != std::string::npos && bracket + 2 < text->size() ? (*text)[bracket + 2] : '?';
}

double seconds_of(const std::atomic<std::int64_t>& us) {
  return static_cast<double>(us.load(std::memory_order_relaxed)) * 1e-6;
}

bool is_halted(const RankView& view) {
  return view.state == 'T' || view.state == 't' || view.state == 'X' || view.state == 'Z';
}

std::string_view describe_state(char state) {
  switch (state) {
    case 'T':
    case 't':
      return "stopped by a signal (SIGSTOP, a debugger, a suspended job); kill -CONT lets it go on";
    case 'X':
    case 'Z':
      return "gone";
    case 'D':
      return "waiting for a disk or a network file system that does not answer";
    default:
      return "";
  }
}

template <typename Test>
std::vector<std::int64_t> ranks_where(std::span<const RankView> views, Test&& test) {
  std::vector<std::int64_t> ranks;
  for (const RankView& view : views) {
    if (test(view)) {
      ranks.push_back(view.rank);
    }
  }
  return ranks;
}

double compute_s(const RankView& view) {
  return std::max(
      0.0, view.train_s - view.data_s - view.collective_s);  // the ends of epochs are waits too
}

struct Slow {
  std::int64_t rank = 0;
  double own_s = 0;
  double others_s = 0;
};

// What counts as slow, against the median of all.
struct SlowLimits {
  double times = 1;
  double least_s = 0;  // and so much longer
};

template <typename Seconds>
std::vector<Slow> find_slow(std::span<const RankView> views, const SlowLimits& limits,
                            Seconds&& seconds) {
  std::vector<double> sorted;
  for (const RankView& view : views) {
    sorted.push_back(seconds(view));
  }
  std::ranges::sort(sorted);
  std::vector<Slow> found;
  for (const RankView& view : views) {
    const double median = sorted[(sorted.size() - 1) / 2];  // of two the faster is the measure
    const double own = seconds(view);
    if (own > limits.times * median && own - median > limits.least_s) {
      found.push_back({.rank = view.rank, .own_s = own, .others_s = median});
    }
  }
  return found;
}

}  // namespace

RankView view_of(const RankSlot& slot, std::int64_t rank) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  RankView view{.rank = rank, .host = "", .pid = slot.pid.load(kRelaxed)};
  view.state = read_state(view.pid);
  view.silent_ms = monotonic_ms() - slot.beat_ms.load(kRelaxed);
  view.step = slot.step.load(kRelaxed);
  view.phase = slot.phase.load(kRelaxed);
  view.collective = slot.collective.load(kRelaxed);
  view.collectives = slot.collectives.load(kRelaxed);
  view.data_s = seconds_of(slot.data_us);
  view.collective_s = seconds_of(slot.collective_us);
  view.train_s = seconds_of(slot.train_us);
  return view;
}

std::vector<std::int64_t> find_culprits(std::span<const RankView> views) {
  auto found = ranks_where(views, is_halted);
  if (found.empty()) {
    found =
        ranks_where(views, [](const RankView& v) { return v.phase != RankPhase::InCollective; });
  }
  if (!found.empty() && found.size() < views.size()) {
    return found;
  }
  const auto fewest = std::ranges::min(views, {}, &RankView::collectives).collectives;
  found = ranks_where(views, [&](const RankView& v) { return v.collectives == fewest; });
  return found.size() < views.size() ? found : std::vector<std::int64_t>();
}

std::string render_hang(std::span<const RankView> views) {
  const std::vector<std::int64_t> culprits = find_culprits(views);
  std::int64_t silent_ms = 0;
  for (const RankView& view : views) {
    silent_ms = std::max(silent_ms, view.silent_ms);
  }
  std::string text =
      culprits.empty()
          ? fmt::format("hang: no rank has moved for {} s, and none is behind the others",
                        silent_ms / 1000)
          : fmt::format("hang: rank {} does not move; the others have waited up to {} s for it",
                        fmt::join(culprits, ", "), silent_ms / 1000);
  for (const RankView& view : views) {
    const bool is_culprit = std::ranges::find(culprits, view.rank) != culprits.end();
    text += fmt::format("\n{} rank {} (process {}{}): step {}, {} for {:.1f} s; collective {}: {}",
                        is_culprit ? "->" : "  ", view.rank, view.pid,
                        view.host.empty() ? "" : " on " + view.host, std::max(view.step, 0L),
                        name_of(view.phase), static_cast<double>(view.silent_ms) * 1e-3,
                        view.collectives, name_of(view.collective));
    if (const std::string_view state = describe_state(view.state); !state.empty()) {
      text += fmt::format("\n     {}", state);
    }
    for (const std::string& frame : view.stack) {
      text += "\n     " + frame;
    }
  }
  return text;
}

std::string render_stragglers(std::span<const RankView> views) {
  std::string text;
  const auto add = [&](std::span<const Slow> found, std::string_view what, std::string_view unit) {
    for (const Slow& slow : found) {
      text += fmt::format("{}rank {} is slow in {}: {:.3g} ms {}, the others {:.3g} ms",
                          text.empty() ? "" : "; ", slow.rank, what, slow.own_s * 1e3, unit,
                          slow.others_s * 1e3);
    }
  };
  const auto per_step = [](double seconds, const RankView& view) {
    return seconds / static_cast<double>(std::max<std::int64_t>(1, view.step));
  };
  add(find_slow(views, {.times = 1.3, .least_s = 1e-3},
                [&](const RankView& view) { return per_step(view.data_s, view); }),
      "data", "a step");
  add(find_slow(views, {.times = 1.3, .least_s = 1e-3},
                [&](const RankView& view) { return per_step(compute_s(view), view); }),
      "compute", "a step");
  std::vector<RankView> linked(views.begin(), views.end());
  std::erase_if(linked, [](const RankView& view) { return view.link_s == 0; });
  add(find_slow(linked, {.times = 2, .least_s = 5e-3}, std::mem_fn(&RankView::link_s)),
      "communication", "for 1 MiB to rank 0 and back");
  return text;
}

}  // namespace kedge::ranks
