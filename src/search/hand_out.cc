#include "search/hand_out.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "search/early_stop.h"
#include "search/propose.h"

namespace kedge::search {

Result<Offer> next_offer(const SweepPlan& plan, std::span<const Trial> trials) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].state == TrialState::Waiting) {
      return Offer{
          .kind = trials[i].attempts < kAttemptsMax ? Offer::Kind::TakeOver : Offer::Kind::GiveUp,
          .index = i};
    }
  }
  if (const auto promotions = find_promotions(plan, trials); !promotions.empty()) {
    return Offer{.kind = Offer::Kind::Promote, .index = promotions.front()};
  }
  auto proposals = KEDGE_TRY(propose(plan, trials, 1));
  if (proposals.values.empty()) {
    return Offer{.end = std::move(proposals.end)};
  }
  return Offer{.kind = Offer::Kind::New,
               .number = static_cast<std::int64_t>(trials.size()) + 1,
               .values = std::move(proposals.values.front())};
}

}  // namespace kedge::search
