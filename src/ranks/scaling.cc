#include "ranks/scaling.h"

#include <algorithm>

#include <fmt/format.h>

namespace kedge::ranks {

std::vector<ScaleRow> compare_scales(std::span<const ScalePoint> points) {
  std::vector<ScaleRow> rows;
  for (const ScalePoint& point : points) {
    const double speed_up = point.samples_per_s / points.front().samples_per_s;
    rows.push_back({.point = point,
                    .speed_up = speed_up,
                    .efficiency = speed_up / static_cast<double>(point.ranks)});
  }
  return rows;
}

std::optional<double> parallel_fraction(const ScaleRow& row) {
  const auto ranks = static_cast<double>(row.point.ranks);
  if (row.point.ranks < 2 || row.speed_up <= 0) {
    return std::nullopt;
  }
  return std::clamp((1 - 1 / row.speed_up) / (1 - 1 / ranks), 0.0, 1.0);
}

namespace {

const ScaleRow& choose_row(std::span<const ScaleRow> rows) {
  constexpr double kClose = 0.9;
  const ScaleRow& fastest = *std::ranges::max_element(
      rows, {}, [](const ScaleRow& row) { return row.point.samples_per_s; });
  return *std::ranges::find_if(rows, [&](const ScaleRow& row) {
    return row.point.samples_per_s >= kClose * fastest.point.samples_per_s;
  });
}

}  // namespace

std::string advise_ranks(std::span<const ScaleRow> rows) {
  const ScaleRow& chosen = choose_row(rows);
  if (chosen.point.ranks == 1) {
    return "one rank is as fast as any: more would only wait for each other";
  }
  std::string text = fmt::format("dist.ranks={} is {:.2g} times as fast as one rank",
                                 chosen.point.ranks, chosen.speed_up);
  constexpr double kPoor = 0.5;
  if (chosen.efficiency < kPoor) {
    text += fmt::format(", but each rank does only {:.0f}% of what it could alone",
                        chosen.efficiency * 100);
  }
  return text;
}

std::string advise_nodes(std::span<const ScaleRow> rows, std::int64_t nodes) {
  constexpr double kMuch = 0.25;
  const ScaleRow& chosen = choose_row(rows);
  if (nodes < 2) {
    return {};
  }
  if (chosen.point.ranks < rows.back().point.ranks) {
    return fmt::format(
        "prefer dist.nodes=1 to {}: even on one machine more than {} rank{} bring nothing", nodes,
        chosen.point.ranks, chosen.point.ranks == 1 ? "" : "s");
  }
  if (chosen.point.collective_fraction >= kMuch) {
    return fmt::format(
        "prefer dist.nodes=1 to {}: inside one machine {:.0f}% of the time already goes into "
        "waiting for each other, and a network is slower; dist.compression=bf16 halves the traffic",
        nodes, chosen.point.collective_fraction * 100);
  }
  return {};
}

}  // namespace kedge::ranks
