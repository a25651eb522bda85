// Several data sets as one: joined end to end, or sampled at given weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "data/dataset.h"

namespace kedge::data {

// The sets one after the other; index 0 is the first sample of the first.
class Joined : public Dataset {
 public:
  // At least one set. The first one's info stands for all, with the largest vocabulary.
  explicit Joined(std::vector<std::unique_ptr<Dataset>> sets);

  const DatasetInfo& info() const override { return info_; }

  std::int64_t size() const override { return starts_.back(); }

  std::int64_t label(std::int64_t index) const override;
  std::string name(std::int64_t index) const override;
  Result<void> read(std::int64_t index, Sample& sample) const override;
  std::string digest() const override;

 protected:
  std::int64_t set_size(std::size_t set) const { return sets_[set]->size(); }

  std::int64_t set_start(std::size_t set) const { return starts_[set]; }

 private:
  struct Place {
    const Dataset& set;
    std::int64_t index;
  };

  Place find(std::int64_t index) const;

  std::vector<std::unique_ptr<Dataset>> sets_;
  std::vector<std::int64_t> starts_;  // one more than there are sets
  DatasetInfo info_;
};

// Draws from the sets at the given weights, evenly spread, so that every window of an epoch holds
// the ratio. An epoch is as long as the sets together; draws go on from epoch to epoch, so a set
// is seen whole before any of its samples comes a second time.
class Mix : public Joined {
 public:
  // Weights are positive and become shares of 10000.
  Mix(std::vector<std::unique_ptr<Dataset>> sets, const std::vector<double>& weights);

  std::int64_t index_at(const OrderKey& key, std::int64_t position) const override;
  std::string digest() const override;

 private:
  struct Draw {
    std::uint32_t set;
    std::uint32_t turn;  // how often the set was drawn before in this period
  };

  std::vector<Draw> period_;
  std::vector<std::int64_t> draws_per_period_;  // of each set
};

}  // namespace kedge::data
