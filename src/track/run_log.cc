// The records of a Run: each call makes one and hands it to the recorder.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "track/internal/png_image.h"
#include "track/internal/recorder.h"
#include "track/internal/run_parts.h"
#include "track/run.h"

namespace kedge::track {
namespace {

std::vector<std::pair<std::string, double>> copy(std::span<const Scalar> scalars) {
  std::vector<std::pair<std::string, double>> values;
  for (const Scalar& scalar : scalars) {
    values.emplace_back(scalar.key, scalar.value);
  }
  return values;
}

std::string_view name_of(AlertLevel level) {
  constexpr std::array<std::string_view, 3> kNames = {"info", "warning", "error"};
  return kNames[static_cast<std::size_t>(level)];
}

}  // namespace

void Run::log(std::int64_t step, std::span<const Scalar> scalars) {
  if (impl_ != nullptr) {
    impl_->recorder.log(step, scalars);
  }
}

void Run::log_epoch(std::int64_t epoch, std::int64_t step, std::span<const Scalar> scalars) {
  guard([&] {
    Item item{.kind = Item::Kind::Epoch, .type = "scalars", .step = step};
    item.epoch = epoch;
    item.values = copy(scalars);
    impl_->recorder.add(std::move(item));
  });
}

void Run::log_confusion(std::string_view key, std::int64_t step,
                        const std::vector<std::string>& class_names,
                        const std::vector<std::vector<std::int64_t>>& counts) {
  guard([&] {
    impl_->add_event("confusion", step,
                     {{"key", key}, {"classes", class_names}, {"counts", counts}},
                     counts.size() * counts.size() * sizeof(nlohmann::json));
  });
}

std::optional<std::string> Run::save_image(std::string_view name,
                                           std::span<const std::uint8_t> pixels,
                                           std::int64_t height, std::int64_t width,
                                           std::int64_t channels) {
  std::optional<std::string> saved;
  guard([&] {
    Item item{.kind = Item::Kind::Image, .type = "image"};
    item.image = {.pixels = {pixels.begin(), pixels.end()},
                  .height = height,
                  .width = width,
                  .channels = channels};
    if (!is_valid(item.image)) {
      impl_->recorder.note_trouble({ErrorKind::Usage,
                                    fmt::format("image '{}' of {} x {} x {} has {} bytes", name,
                                                height, width, channels, pixels.size()),
                                    ""});
      return;
    }
    const std::string file = "media/" + impl_->claim_media_name(name);
    item.file = path() / file;
    item.body = {{"name", name}, {"path", file}};
    item.size = pixels.size();
    impl_->recorder.add(std::move(item));
    saved = file;
  });
  return saved;
}

void Run::log_table(std::string_view key, std::int64_t step,
                    const std::vector<std::string>& columns, const nlohmann::json& rows) {
  guard([&] {
    impl_->add_event("table", step, {{"key", key}, {"columns", columns}, {"rows", rows}},
                     rows.size() * (columns.size() + 1) * sizeof(nlohmann::json));
  });
}

bool Run::console(std::string_view line, std::chrono::milliseconds patience) {
  bool is_kept = false;
  guard([&] {
    Item item{.kind = Item::Kind::Console, .type = "console"};
    item.text = line;
    item.size = line.size();
    is_kept = impl_->recorder.add_patiently(std::move(item), patience);
  });
  return is_kept;
}

void Run::log_histogram(std::string_view key, std::int64_t step, std::span<const double> edges,
                        std::span<const std::int64_t> counts) {
  guard([&] {
    if (counts.empty() || edges.size() != counts.size() + 1 || !std::ranges::is_sorted(edges)) {
      impl_->recorder.note_trouble(
          {ErrorKind::Usage,
           fmt::format("histogram '{}' has {} counts and {} edges, or they do not rise", key,
                       counts.size(), edges.size()),
           ""});
      return;
    }
    impl_->add_event("histogram", step,
                     {{"key", key},
                      {"edges", std::vector<double>(edges.begin(), edges.end())},
                      {"counts", std::vector<std::int64_t>(counts.begin(), counts.end())}},
                     2 * edges.size() * sizeof(nlohmann::json));
  });
}

void Run::log_text(std::string_view key, std::int64_t step, std::string_view text) {
  guard([&] { impl_->add_event("text", step, {{"key", key}, {"text", text}}, text.size()); });
}

void Run::log_html(std::string_view key, std::int64_t step, std::string_view html) {
  guard([&] { impl_->add_event("html", step, {{"key", key}, {"html", html}}, html.size()); });
}

void Run::alert(std::string_view title, std::string_view text, AlertLevel level) {
  guard([&] {
    impl_->add_event("alert", kLastStep,
                     {{"title", title}, {"text", text}, {"level", name_of(level)}}, text.size());
  });
}

void Run::log_artifact(const ArtifactReference& artifact, std::int64_t step) {
  guard([&] {
    impl_->add_event("artifact", step,
                     {{"name", artifact.name},
                      {"type", artifact.type},
                      {"location", artifact.location},
                      {"digest", artifact.digest},
                      {"size", artifact.size}},
                     artifact.location.size());
  });
}

void Run::set_tags(const std::vector<std::string>& tags) {
  guard([&] {
    impl_->add_event("tags", kLastStep, {{"tags", tags}}, tags.size() * sizeof(nlohmann::json));
    const std::lock_guard lock(impl_->description_mutex);
    impl_->description["tags"] = tags;
  });
}

void Run::log_system(std::span<const Scalar> values) {
  guard([&] {
    nlohmann::json body = nlohmann::json::object();
    for (const Scalar& value : values) {
      body[std::string(value.key)] = value.value;
    }
    const std::size_t size = body.size() * sizeof(nlohmann::json);
    impl_->add_event("system", kLastStep, std::move(body), size);
  });
}

}  // namespace kedge::track
