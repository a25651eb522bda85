#include "data/internal/mix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/hash.h"
#include "core/random.h"
#include "data/order.h"

namespace kedge::data {

Joined::Joined(std::vector<std::unique_ptr<Dataset>> sets)
    : sets_(std::move(sets)), starts_{0}, info_(sets_.front()->info()) {
  for (const auto& set : sets_) {
    starts_.push_back(starts_.back() + set->size());
    info_.vocab = std::max(info_.vocab, set->info().vocab);
    if (set != sets_.front()) {
      info_.notes.insert(info_.notes.end(), set->info().notes.begin(), set->info().notes.end());
    }
    if (set->info().fields != info_.fields) {
      info_.fields = without_size(info_.fields);
    }
  }
}

Joined::Place Joined::find(std::int64_t index) const {
  const auto after = std::ranges::upper_bound(starts_, index);
  const auto set = static_cast<std::size_t>(after - starts_.begin()) - 1;
  return {*sets_[set], index - starts_[set]};
}

std::int64_t Joined::label(std::int64_t index) const {
  const Place place = find(index);
  return place.set.label(place.index);
}

std::string Joined::name(std::int64_t index) const {
  const Place place = find(index);
  return place.set.name(place.index);
}

Result<void> Joined::read(std::int64_t index, Sample& sample) const {
  const Place place = find(index);
  return place.set.read(place.index, sample);
}

std::string Joined::digest() const {
  Digest digest;
  for (const auto& set : sets_) {
    digest.add(set->digest());
  }
  return digest.text();
}

Mix::Mix(std::vector<std::unique_ptr<Dataset>> sets, const std::vector<double>& weights)
    : Joined(std::move(sets)) {
  constexpr double kPeriod = 10000;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const double weight : weights) {
    draws_per_period_.push_back(std::max<std::int64_t>(1, std::llround(weight / sum * kPeriod)));
  }
  const std::int64_t length =
      std::accumulate(draws_per_period_.begin(), draws_per_period_.end(), std::int64_t{0});
  // Smooth weighted round robin: the set that is furthest behind its share is drawn next.
  std::vector<std::int64_t> credit(weights.size());
  std::vector<std::uint32_t> turns(weights.size());
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::size_t set = 0; set < credit.size(); ++set) {
      credit[set] += draws_per_period_[set];
    }
    const auto next = static_cast<std::size_t>(std::ranges::max_element(credit) - credit.begin());
    credit[next] -= length;
    period_.push_back({static_cast<std::uint32_t>(next), turns[next]++});
  }
}

std::int64_t Mix::index_at(const OrderKey& key, std::int64_t position) const {
  const auto length = static_cast<std::int64_t>(period_.size());
  const std::int64_t step = key.epoch * size() + position;
  const Draw draw = period_[static_cast<std::size_t>(step % length)];
  const std::int64_t turn = step / length * draws_per_period_[draw.set] + draw.turn;
  const std::int64_t count = set_size(draw.set);
  const std::int64_t pass = turn / count;
  const std::int64_t place = turn % count;
  const std::int64_t within = key.shuffle ? permuted(count, mix_key({key.seed, draw.set}),
                                                     static_cast<std::uint64_t>(pass), place)
                                          : place;
  return set_start(draw.set) + within;
}

std::string Mix::digest() const {
  Digest digest;
  digest.add(Joined::digest());
  digest.add(fmt::format("mix {}", fmt::join(draws_per_period_, " ")));
  return digest.text();
}

}  // namespace kedge::data
