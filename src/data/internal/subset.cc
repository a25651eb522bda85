#include "data/internal/subset.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/hash.h"
#include "core/nearest.h"

namespace kedge::data {
namespace {

std::span<const std::uint8_t> bytes_of(const std::vector<std::int64_t>& numbers) {
  return {reinterpret_cast<const std::uint8_t*>(numbers.data()),
          numbers.size() * sizeof(std::int64_t)};
}

}  // namespace

Subset::Subset(SharedDataset whole, std::vector<std::int64_t> indices)
    : whole_(std::move(whole)), indices_(std::move(indices)), info_(whole_->info()) {}

Subset::Subset(SharedDataset whole, std::vector<std::int64_t> indices,
               std::vector<std::int64_t> new_labels, std::vector<std::string> class_names)
    : Subset(std::move(whole), std::move(indices)) {
  new_labels_ = std::move(new_labels);
  info_.class_names = std::move(class_names);
}

std::int64_t Subset::label(std::int64_t index) const {
  const std::int64_t old = whole_->label(original(index));
  return new_labels_.empty() ? old : new_labels_[static_cast<std::size_t>(old)];
}

std::string Subset::name(std::int64_t index) const {
  return whole_->name(original(index));
}

Result<void> Subset::read(std::int64_t index, Sample& sample) const {
  return whole_->read(original(index), sample);
}

std::string Subset::digest() const {
  Digest digest;
  digest.add(whole_->digest());
  digest.add(bytes_of(indices_));
  digest.add(bytes_of(new_labels_));
  return digest.text();
}

Result<std::unique_ptr<Dataset>> keep_classes(std::unique_ptr<Dataset> dataset,
                                              const std::vector<std::string>& classes) {
  const std::vector<std::string>& known = dataset->info().class_names;
  if (classes.empty() || classes == known) {
    return dataset;
  }
  if (known.empty()) {
    return fail(
        ErrorKind::Usage,
        fmt::format("data.classes is [{}], but this data has no classes", fmt::join(classes, ", ")),
        "leave data.classes out");
  }
  constexpr std::int64_t kNotKept = -1;
  std::vector<std::int64_t> new_labels(known.size(), kNotKept);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto found = std::ranges::find(known, classes[i]);
    if (found == known.end()) {
      return std::unexpected(unknown_name("class in data.classes", classes[i], known));
    }
    std::int64_t& label = new_labels[static_cast<std::size_t>(found - known.begin())];
    if (label != kNotKept) {
      return fail(ErrorKind::Usage, fmt::format("data.classes names '{}' twice", classes[i]));
    }
    label = static_cast<std::int64_t>(i);
  }
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < dataset->size(); ++i) {
    if (new_labels[static_cast<std::size_t>(dataset->label(i))] != kNotKept) {
      indices.push_back(i);
    }
  }
  return std::make_unique<Subset>(std::move(dataset), std::move(indices), std::move(new_labels),
                                  classes);
}

}  // namespace kedge::data
