#include "jobs/gpu_catalogue.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace kedge::jobs {
namespace {

constexpr auto kModels = std::to_array<GpuModel>({
    {"Tesla K80", {3, 7}, 12},
    {"Tesla P100-PCIE-12GB", {6, 0}, 12},
    {"Tesla P100-PCIE-16GB", {6, 0}, 16},
    {"GeForce GTX 1080", {6, 1}, 8},
    {"Tesla P4", {6, 1}, 8},
    {"GeForce GTX 1080 Ti", {6, 1}, 11},
    {"TITAN Xp", {6, 1}, 12},
    {"Tesla P40", {6, 1}, 24},
    {"TITAN V", {7, 0}, 12},
    {"Tesla V100-SXM2-16GB", {7, 0}, 16},
    {"Tesla V100-SXM2-32GB", {7, 0}, 32},
    {"GeForce RTX 2080", {7, 5}, 8},
    {"GeForce RTX 2080 Ti", {7, 5}, 11},
    {"Tesla T4", {7, 5}, 16},
    {"Quadro RTX 6000", {7, 5}, 24},
    {"TITAN RTX", {7, 5}, 24},
    {"Quadro RTX 8000", {7, 5}, 48},
    {"A30", {8, 0}, 24},
    {"A100-SXM4-40GB", {8, 0}, 40},
    {"A100-SXM4-80GB", {8, 0}, 80},
    {"A800-SXM4-80GB", {8, 0}, 80},
    {"GeForce RTX 3070", {8, 6}, 8},
    {"GeForce RTX 3080", {8, 6}, 10},
    {"A2", {8, 6}, 16},
    {"RTX A4000", {8, 6}, 16},
    {"A10", {8, 6}, 24},
    {"A10G", {8, 6}, 24},
    {"GeForce RTX 3090", {8, 6}, 24},
    {"RTX A5000", {8, 6}, 24},
    {"A40", {8, 6}, 48},
    {"RTX A6000", {8, 6}, 48},
    {"GeForce RTX 4080", {8, 9}, 16},
    {"GeForce RTX 4090", {8, 9}, 24},
    {"L4", {8, 9}, 24},
    {"RTX 5000 Ada Generation", {8, 9}, 32},
    {"L40", {8, 9}, 48},
    {"L40S", {8, 9}, 48},
    {"RTX 6000 Ada Generation", {8, 9}, 48},
    {"H100 PCIe", {9, 0}, 80},
    {"H100 80GB HBM3", {9, 0}, 80},
    {"H800", {9, 0}, 80},
    {"H100 NVL", {9, 0}, 94},
    {"GH200 480GB", {9, 0}, 96},
    {"H200", {9, 0}, 141},
    {"B200", {10, 0}, 180},
    {"GeForce RTX 5080", {12, 0}, 16},
    {"GeForce RTX 5090", {12, 0}, 32},
    {"RTX PRO 6000 Blackwell Server Edition", {12, 0}, 96},
});

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::optional<int> parse_digits(std::string_view text) {
  int value = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  const bool is_whole = !text.empty() && parsed.ec == std::errc{} && parsed.ptr == end;
  return is_whole && value >= 0 ? std::optional(value) : std::nullopt;
}

template <typename Predicate>
std::vector<GpuModel> models_where(Predicate predicate) {
  std::vector<GpuModel> found;
  std::ranges::copy_if(kModels, std::back_inserter(found), predicate);
  return found;
}

}  // namespace

Result<Capability> parse_capability(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto major = parse_digits(text.substr(0, dot));
  const auto minor =
      dot == std::string_view::npos ? std::optional(0) : parse_digits(text.substr(dot + 1));
  if (!major || !minor || *minor > 9) {
    return fail(ErrorKind::Usage, fmt::format("'{}' is not a compute capability", text),
                "write it as NVIDIA does: 7.5, 8.0, 9.0");
  }
  return Capability{*major, *minor};
}

std::string render_capability(Capability capability) {
  return fmt::format("{}.{}", capability.major, capability.minor);
}

std::span<const GpuModel> gpu_catalogue() {
  return kModels;
}

std::int64_t least_reported_mib(Bytes memory) {
  return static_cast<std::int64_t>(static_cast<double>(memory.value) * 0.98 / (1 << 20));
}

std::vector<GpuModel> gpus_that_fit(const GpuNeed& need) {
  return models_where([&](const GpuModel& model) {
    return (!need.least_capability || model.capability >= *need.least_capability) &&
           (!need.most_capability || model.capability <= *need.most_capability) &&
           static_cast<std::uint64_t>(model.memory_gb) * 1'000'000'000 >= need.memory.value;
  });
}

std::vector<GpuModel> gpus_named(std::string_view part) {
  const std::string wanted = lower(part);
  return models_where(
      [&](const GpuModel& model) { return lower(model.name).find(wanted) != std::string::npos; });
}

}  // namespace kedge::jobs
