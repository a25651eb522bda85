#include "ranks/rank_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::ranks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RankView waiting(std::int64_t rank, std::int64_t collectives) {
  return {.rank = rank,
          .host = "",
          .pid = 100 + rank,
          .state = 'S',
          .silent_ms = 21'000,
          .step = 7,
          .phase = RankPhase::InCollective,
          .collective = Collective::Gradients,
          .collectives = collectives};
}

TEST(RankReport, names_the_rank_that_is_stopped) {
  std::vector<RankView> views = {waiting(0, 9), waiting(1, 9), waiting(2, 9)};
  views[1].state = 'T';
  EXPECT_THAT(find_culprits(views), ElementsAre(1));
  const std::string text = render_hang(views);
  EXPECT_THAT(text, HasSubstr("rank 1 does not move"));
  EXPECT_THAT(text, HasSubstr("stopped by a signal"));
  EXPECT_THAT(text, HasSubstr("process 102"));
}

TEST(RankReport, names_the_rank_that_others_wait_for_in_an_exchange) {
  std::vector<RankView> views = {waiting(0, 9), waiting(1, 9), waiting(2, 8)};
  views[2].phase = RankPhase::Data;
  EXPECT_THAT(find_culprits(views), ElementsAre(2));
  EXPECT_THAT(render_hang(views), HasSubstr("waiting for data"));
}

TEST(RankReport, names_the_rank_that_has_begun_fewer_collectives) {
  const std::vector<RankView> views = {waiting(0, 9), waiting(1, 8), waiting(2, 9)};
  EXPECT_THAT(find_culprits(views), ElementsAre(1));
}

TEST(RankReport, names_what_each_rank_waits_in) {
  std::vector<RankView> views(4, waiting(0, 9));
  views[0].collective = Collective::ReduceScatter;
  views[1].collective = Collective::AllToAll;
  views[2].collective = Collective::Send;
  views[3].collective = Collective::Receive;
  const std::string text = render_hang(views);
  for (const char* name : {"reduce-scatter", "all-to-all", "send", "receive"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format("collective 9: {}", name)));
  }
}

TEST(RankReport, accuses_nobody_where_all_wait_alike) {
  const std::vector<RankView> views = {waiting(0, 9), waiting(1, 9)};
  EXPECT_THAT(find_culprits(views), IsEmpty());
  EXPECT_THAT(render_hang(views), HasSubstr("none is behind the others"));
}

TEST(RankReport, tells_slow_data_from_slow_computing) {
  std::vector<RankView> views = {waiting(0, 9), waiting(1, 9), waiting(2, 9)};
  for (RankView& view : views) {
    view.step = 10;
    view.train_s = 2;
    view.data_s = 0.1;
    view.collective_s = 0.9;
  }
  EXPECT_THAT(render_stragglers(views), IsEmpty());
  views[2].collective_s = 0.1;  // 1.8 s of its own, the others 1.0
  EXPECT_THAT(render_stragglers(views), HasSubstr("rank 2 is slow in compute: 180 ms a step"));
  views[2].data_s = 1.0;
  EXPECT_THAT(render_stragglers(views), HasSubstr("rank 2 is slow in data: 100 ms a step"));
}

TEST(RankReport, names_the_rank_behind_a_slow_link) {
  std::vector<RankView> views = {waiting(0, 9), waiting(1, 9), waiting(2, 9), waiting(3, 9)};
  for (RankView& view : views) {
    view.step = 10;
    view.train_s = 2;
    view.collective_s = 1.5;
    view.link_s = view.rank == 0 ? 0 : 0.004;
  }
  EXPECT_THAT(render_stragglers(views), IsEmpty());
  views[3].link_s = 0.08;
  EXPECT_EQ(render_stragglers(views),
            "rank 3 is slow in communication: 80 ms for 1 MiB to rank 0 and back, the others 4 ms");
}

TEST(RankBoard, a_slot_without_a_supervisor_takes_what_it_is_told) {
  show_step(2, 40);
  EXPECT_EQ(own_slot().step, 40);
  {
    const TimedPhase phase(RankPhase::Data, own_slot().data_us);
    EXPECT_EQ(own_slot().phase, RankPhase::Data);
  }
  EXPECT_NE(own_slot().phase, RankPhase::Data);
}

}  // namespace
}  // namespace kedge::ranks
