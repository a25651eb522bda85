#include "train/internal/agreement.h"

#include <torch/types.h>

#include "core/result.h"
#include "ranks/rank_board.h"

namespace kedge::train {

Agreement::Agreement(dist::ProcessGroup& group)
    : group_(group.make_twin("agreement")), wishes_(torch::zeros({3}, torch::kInt64)) {}

void Agreement::start(Wish own) {
  KEDGE_CHECK(work_ == nullptr, "one question at a time");
  auto* wishes = wishes_.data_ptr<std::int64_t>();
  wishes[0] = own.stop ? 1 : 0;
  wishes[1] = own.save && group_->is_first() ? 1 : 0;
  wishes[2] = own.keep && group_->is_first() ? 1 : 0;
  work_ = group_->start_all_reduce(wishes_, ranks::Collective::AllReduce);
}

Agreement::Wish Agreement::take() {
  KEDGE_CHECK(work_ != nullptr, "an answer has a question");
  {
    const ranks::TimedPhase waiting(ranks::RankPhase::InCollective,
                                    ranks::own_slot().collective_us);
    work_->wait();
  }
  work_.reset();
  const auto* wishes = wishes_.const_data_ptr<std::int64_t>();
  return {.stop = wishes[0] > 0, .save = wishes[1] > 0, .keep = wishes[2] > 0};
}

Agreement::Wish Agreement::agree(Wish own) {
  start(own);
  return take();
}

}  // namespace kedge::train
