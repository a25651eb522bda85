#include "parallel/replicated/data_parallel.h"

#include <algorithm>
#include <utility>

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/result.h"
#include "ranks/rank_board.h"

namespace kedge::parallel {

// Called by autograd when a parameter's gradient is complete.
class DataParallel::Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(DataParallel& owner, std::size_t parameter) : owner_(owner), parameter_(parameter) {}

  void operator()(const torch::autograd::Variable& /*tensor*/) override {
    if (owner_.is_started_) {
      owner_.take(parameter_);
      owner_.launch_filled();
    }
  }

 private:
  DataParallel& owner_;
  std::size_t parameter_;
};

DataParallel::DataParallel(dist::ProcessGroup& group, nn::NamedTensors parameters,
                           const DataParallelOptions& options)
    : group_(group),
      parameters_(std::move(parameters)),
      is_bf16_(options.is_bf16),
      places_(parameters_.size()),
      is_taken_(parameters_.size(), false) {
  make_buckets(options);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i].second,
                                                   std::make_unique<Hook>(*this, i));
  }
}

DataParallel::~DataParallel() {
  for (auto& [name, parameter] : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

// From the last parameter to the first: about the order in which their gradients come.
void DataParallel::make_buckets(const DataParallelOptions& options) {
  std::uint64_t bytes = 0;
  std::uint64_t limit = options.first_bucket_bytes;
  const at::Tensor* last = nullptr;
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    const at::Tensor& parameter = parameters_[i].second;
    const bool is_other_kind = last != nullptr && (last->scalar_type() != parameter.scalar_type() ||
                                                   last->device() != parameter.device());
    if (last == nullptr || is_other_kind || bytes >= limit) {
      limit = last == nullptr ? options.first_bucket_bytes : options.bucket_bytes;
      bytes = 0;
      buckets_.emplace_back();
    }
    places_[i] = {buckets_.size() - 1, buckets_.back().parameters.size()};
    buckets_.back().parameters.push_back(i);
    bytes += parameter.nbytes();
    last = &parameter;
  }
  for (Bucket& bucket : buckets_) {
    std::int64_t size = 0;
    for (const std::size_t i : bucket.parameters) {
      bucket.offsets.push_back(size);
      size += parameters_[i].second.numel();
    }
    const at::Tensor& first = parameters_[bucket.parameters.front()].second;
    const bool is_packed = is_bf16_ && first.is_floating_point();
    const auto count = static_cast<std::int64_t>(bucket.parameters.size());
    bucket.flat =
        torch::empty({size + count}, first.options().requires_grad(false).dtype(
                                         is_packed ? at::kBFloat16 : first.scalar_type()));
    bucket.uses = bucket.flat.slice(0, size);
  }
}

// With the parameter's strides: channels-last weights need no reordering, and every rank has them.
at::Tensor DataParallel::place_of(const Bucket& bucket, std::size_t slot) const {
  const at::Tensor& parameter = parameters_[bucket.parameters[slot]].second;
  const at::Tensor& flat = bucket.flat;
  return parameter.is_non_overlapping_and_dense()
             ? flat.as_strided(parameter.sizes(), parameter.strides(), bucket.offsets[slot])
             : flat.slice(0, bucket.offsets[slot], bucket.offsets[slot] + parameter.numel())
                   .view(parameter.sizes());
}

void DataParallel::start() {
  is_started_ = true;
}

void DataParallel::take(std::size_t parameter) {
  if (is_taken_[parameter]) {
    return;
  }
  is_taken_[parameter] = true;
  ++buckets_[places_[parameter].first].filled;
}

// All gradients of a bucket at once: on a GPU that is one kernel instead of many small ones.
void DataParallel::fill(Bucket& bucket) {
  const torch::NoGradGuard no_grad;
  bucket.uses.fill_(1);
  std::vector<at::Tensor> places;
  std::vector<at::Tensor> gradients;
  for (std::size_t slot = 0; slot < bucket.parameters.size(); ++slot) {
    const at::Tensor& gradient = parameters_[bucket.parameters[slot]].second.grad();
    if (gradient.defined()) {
      places.push_back(place_of(bucket, slot));
      gradients.push_back(gradient);
    } else {
      place_of(bucket, slot).zero_();
      bucket.uses[static_cast<std::int64_t>(slot)].zero_();
    }
  }
  if (!places.empty()) {
    at::_foreach_copy_(places, gradients);
  }
}

void DataParallel::launch_filled() {
  for (; next_ < buckets_.size() && buckets_[next_].filled == buckets_[next_].parameters.size();
       ++next_) {
    fill(buckets_[next_]);
    buckets_[next_].work =
        group_.start_all_reduce(buckets_[next_].flat, ranks::Collective::Gradients);
  }
}

void DataParallel::put_back(Bucket& bucket) {
  for (std::size_t slot = 0; slot < bucket.parameters.size(); ++slot) {
    const at::Tensor& parameter = parameters_[bucket.parameters[slot]].second;
    at::Tensor& gradient = parameter.mutable_grad();
    // Only a rank without the gradient need ask whether another has it: asking waits for a GPU.
    if (!gradient.defined() && bucket.uses[static_cast<std::int64_t>(slot)].item<double>() == 0) {
      continue;
    }
    const at::Tensor sum = place_of(bucket, slot);
    gradient = sum.scalar_type() == parameter.scalar_type() ? sum : sum.to(parameter.scalar_type());
  }
}

void DataParallel::finish() {
  const torch::NoGradGuard no_grad;
  for (const Bucket& bucket : buckets_) {
    for (const std::size_t parameter : bucket.parameters) {
      take(parameter);
    }
  }
  launch_filled();
  KEDGE_CHECK(next_ == buckets_.size(), "every bucket has been sent");
  {
    const ranks::TimedPhase waiting(ranks::RankPhase::InCollective,
                                    ranks::own_slot().collective_us);
    for (Bucket& bucket : buckets_) {
      bucket.work->wait();
      bucket.work.reset();
    }
  }
  for (Bucket& bucket : buckets_) {
    put_back(bucket);
  }
  reset();
}

void DataParallel::reset() {
  for (Bucket& bucket : buckets_) {
    bucket.filled = 0;
    bucket.work.reset();
  }
  std::fill(is_taken_.begin(), is_taken_.end(), false);
  next_ = 0;
  is_started_ = false;
}

}  // namespace kedge::parallel
