#include "nn/internal/fused_experts.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace kedge::nn {
namespace {

using checkpoint::TensorView;

constexpr std::string_view kGateUp = ".mlp.experts.gate_up_proj";
constexpr std::string_view kDown = ".mlp.experts.down_proj";
constexpr std::string_view kMixtral = ".block_sparse_moe.";

bool is_fused(const TensorView& view) {
  return (view.name.ends_with(kGateUp) || view.name.ends_with(kDown)) && view.shape.size() == 3 &&
         !view.bytes.empty();
}

// Where the model calls the mixture otherwise than transformers 5.
std::string named(std::string name, bool is_mixtral) {
  constexpr std::string_view kMlp = ".mlp.";
  if (const auto at = name.find(kMlp); is_mixtral && at != std::string::npos) {
    name.replace(at, kMlp.size(), kMixtral);
  }
  return name;
}

void add_pieces(const TensorView& view, bool is_mixtral, std::vector<TensorView>& pieces) {
  const bool is_down = view.name.ends_with(kDown);
  std::vector<std::string_view> parts = {"down_proj"};
  if (is_mixtral) {
    parts =
        is_down ? std::vector<std::string_view>{"w2"} : std::vector<std::string_view>{"w1", "w3"};
  } else if (!is_down) {
    parts = {"gate_proj", "up_proj"};
  }
  const std::string start = named(view.name.substr(0, view.name.rfind('.')), is_mixtral);
  const auto count = static_cast<std::int64_t>(parts.size());
  const std::int64_t rows = view.shape[1] / count;
  const auto size = view.bytes.size() / static_cast<std::size_t>(view.shape[0] * count);
  for (std::int64_t i = 0; i < view.shape[0] * count; ++i) {
    pieces.push_back({.name = fmt::format("{}.{}.{}.weight", start, i / count,
                                          parts[static_cast<std::size_t>(i % count)]),
                      .type = view.type,
                      .shape = {rows, view.shape[2]},
                      .bytes = view.bytes.subspan(static_cast<std::size_t>(i) * size, size)});
  }
}

}  // namespace

std::vector<TensorView> experts_apart(const std::vector<TensorView>& views,
                                      const std::vector<std::string>& model_names) {
  if (std::ranges::none_of(views, is_fused)) {
    return views;
  }
  const bool is_mixtral =
      std::ranges::any_of(model_names, [](const auto& name) { return name.contains(kMixtral); });
  std::vector<TensorView> apart;
  for (const TensorView& view : views) {
    if (is_fused(view)) {
      add_pieces(view, is_mixtral, apart);
    } else {
      apart.push_back(view);
      // The router stands beside the experts.
      if (view.name.ends_with(".mlp.gate.weight")) {
        apart.back().name = named(view.name, is_mixtral);
      }
    }
  }
  return apart;
}

}  // namespace kedge::nn
