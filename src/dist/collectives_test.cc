// What ranks do together, over Gloo and alone, held to sums by hand.
#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "dist/rank_threads.h"

namespace kedge::dist {
namespace {

using testing::HasSubstr;

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kBFloat16, at::kLong};

at::Tensor numbers(const std::vector<std::int64_t>& values, at::ScalarType type = at::kLong) {
  return torch::tensor(values, torch::kInt64).to(type);
}

// 10 (r + 1), 10 (r + 1) + 1, ... on rank r.
at::Tensor own_numbers(const ProcessGroup& group, std::int64_t count, at::ScalarType type) {
  return (torch::arange(count, torch::kInt64) + 10 * (group.rank() + 1)).to(type);
}

// In worlds of 1 to 4 ranks over Gloo and in that of a process alone, for each type; `check` must
// have been through on all ranks.
void for_all(const std::function<void(ProcessGroup&, at::ScalarType)>& check) {
  std::atomic<int> checked = 0;
  const auto each_type = [&](ProcessGroup& group) {
    for (const at::ScalarType type : kTypes) {
      check(group, type);
      ++checked;
    }
  };
  each_type(*make_single_process_group());
  for (const std::int64_t size : {1, 2, 3, 4}) {
    run_ranks(size, each_type);
  }
  EXPECT_EQ(checked, 3 * (1 + 1 + 2 + 3 + 4));
}

TEST(Collectives, all_reduce_sums_or_takes_the_largest) {
  for_all([](ProcessGroup& group, at::ScalarType type) {
    const std::int64_t n = group.size();
    const at::Tensor sum = own_numbers(group, 3, type);
    group.all_reduce_sum(sum);
    const std::int64_t tens = 5 * n * (n + 1);  // 10 + 20 + ...
    EXPECT_TRUE(sum.equal(numbers({tens, tens + n, tens + 2 * n}, type))) << sum;
    const at::Tensor largest = own_numbers(group, 3, type);
    group.all_reduce_max(largest);
    EXPECT_TRUE(largest.equal(numbers({10 * n, 10 * n + 1, 10 * n + 2}, type))) << largest;
  });
}

TEST(Collectives, broadcast_gives_all_what_one_has) {
  for_all([](ProcessGroup& group, at::ScalarType type) {
    const at::Tensor values = own_numbers(group, 2, type);
    const auto work = group.start_broadcast(values, group.size() - 1);
    work->wait();
    EXPECT_TRUE(values.equal(numbers({10 * group.size(), 10 * group.size() + 1}, type))) << values;
  });
}

TEST(Collectives, reduce_scatter_leaves_each_its_piece) {
  for_all([](ProcessGroup& group, at::ScalarType type) {
    const std::int64_t n = group.size();
    const std::int64_t first = 2 * group.rank();  // of the two elements of the piece
    const at::Tensor input = own_numbers(group, 2 * n, type);
    const at::Tensor piece = torch::empty({2, 1}, type);
    group.reduce_scatter(piece, input);
    const std::int64_t tens = 5 * n * (n + 1);
    EXPECT_TRUE(piece.view(-1).equal(numbers({tens + n * first, tens + n * (first + 1)}, type)))
        << piece;
    EXPECT_TRUE(input.equal(own_numbers(group, 2 * n, type)));
    group.reduce_scatter(piece, input, Reduce::Max);
    EXPECT_TRUE(piece.view(-1).equal(numbers({10 * n + first, 10 * n + first + 1}, type))) << piece;
  });
}

TEST(Collectives, all_gather_puts_all_behind_each_other) {
  for_all([](ProcessGroup& group, at::ScalarType type) {
    std::vector<std::int64_t> expected;
    for (std::int64_t rank = 0; rank < group.size(); ++rank) {
      expected.insert(expected.end(), {10 * (rank + 1), 10 * (rank + 1) + 1});
    }
    const at::Tensor all = torch::empty({group.size() * 2}, type);
    group.all_gather_into(all, own_numbers(group, 2, type));
    EXPECT_TRUE(all.equal(numbers(expected, type))) << all;
    const at::Tensor rows = group.all_gather(own_numbers(group, 2, type));
    EXPECT_TRUE(rows.equal(numbers(expected, type).view({-1, 2}))) << rows;
  });
}

TEST(Collectives, a_piece_may_lie_in_the_whole) {
  for_all([](ProcessGroup& group, at::ScalarType type) {
    at::Tensor whole = torch::zeros({group.size()}, type);
    const at::Tensor own = whole.narrow(0, group.rank(), 1);
    own.fill_(group.rank() + 1);
    group.all_gather_into(whole, own);
    EXPECT_TRUE(whole.equal((torch::arange(group.size()) + 1).to(type))) << whole;
    group.reduce_scatter(own, whole);
    EXPECT_EQ(own.item<std::int64_t>(), group.size() * (group.rank() + 1));
  });
}

TEST(Collectives, all_to_all_exchanges_equal_pieces) {
  for_all([](ProcessGroup& group, at::ScalarType type) {
    // Row r of rank q says 10 (q + 1) + r; it comes to rank r as its row q.
    const at::Tensor input = own_numbers(group, group.size(), type).view({-1, 1}).repeat({1, 2});
    const at::Tensor output = torch::empty({group.size(), 2}, type);
    group.all_to_all(output, input);
    for (std::int64_t rank = 0; rank < group.size(); ++rank) {
      const std::int64_t value = 10 * (rank + 1) + group.rank();
      EXPECT_TRUE(output[rank].equal(numbers({value, value}, type))) << output;
    }
  });
}

TEST(Collectives, all_to_all_exchanges_uneven_and_empty_pieces) {
  // Rank q sends q rows to rank 0, nothing to rank 1 and one row to rank 2.
  const std::vector<std::vector<std::int64_t>> received = {{20, 30, 31}, {}, {10, 21, 32}};
  run_ranks(3, [&](ProcessGroup& group) {
    for (const at::ScalarType type : kTypes) {
      const std::int64_t rank = group.rank();
      const Pieces rows{.output = rank == 0   ? std::vector<std::int64_t>{0, 1, 2}
                                  : rank == 1 ? std::vector<std::int64_t>{0, 0, 0}
                                              : std::vector<std::int64_t>{1, 1, 1},
                        .input = {rank, 0, 1}};
      const at::Tensor expected = numbers(received[static_cast<std::size_t>(rank)], type);
      const at::Tensor output = torch::full_like(expected, -1);
      group.all_to_all(output, own_numbers(group, rank + 1, type), rows);
      EXPECT_TRUE(output.equal(expected)) << "rank " << rank << ": " << output;
    }
  });
}

TEST(Collectives, empty_tensors_are_exchanged_too) {
  for_all([](ProcessGroup& group, at::ScalarType type) {
    const at::Tensor empty = torch::empty({0}, type);
    group.all_reduce_sum(empty);
    group.reduce_scatter(empty, empty.clone());
    group.all_gather_into(empty, empty.clone());
    group.all_to_all(empty, empty.clone());
    EXPECT_EQ(group.all_gather(empty).sizes(), (at::IntArrayRef{group.size(), 0}));
  });
}

TEST(Collectives, a_ring_of_sends_arrives_in_order) {
  for (const std::int64_t size : {2, 3, 4}) {
    run_ranks(size, [&](ProcessGroup& group) {
      const std::int64_t next = (group.rank() + 1) % size;
      const std::int64_t before = (group.rank() + size - 1) % size;
      for (const at::ScalarType type : kTypes) {
        const at::Tensor first = own_numbers(group, 3, type);
        const at::Tensor second = numbers({group.rank()}, type);
        const auto one = group.start_send(first, next);
        const auto two = group.start_send(second, next);
        const at::Tensor received = torch::empty({3}, type);
        const at::Tensor last = torch::empty({1}, type);
        group.receive(received, before);
        group.receive(last, before);
        one->wait();
        two->wait();
        const std::int64_t tens = 10 * (before + 1);
        EXPECT_TRUE(received.equal(numbers({tens, tens + 1, tens + 2}, type))) << received;
        EXPECT_TRUE(last.equal(numbers({before}, type))) << last;
      }
    });
  }
}

TEST(Collectives, several_are_under_way_at_once) {
  run_ranks(3, [](ProcessGroup& group) {
    const at::Tensor input = torch::full({3000}, group.rank() + 1, torch::kFloat);
    const at::Tensor piece = torch::zeros({1000});
    const at::Tensor all = torch::zeros({9000});
    const at::Tensor from_last = torch::full({10}, group.rank());
    const auto one = group.start_reduce_scatter(piece, input);
    const auto two = group.start_all_gather_into(all, input);
    const auto three = group.start_broadcast(from_last, 2);
    one->wait();
    EXPECT_TRUE(piece.equal(torch::full({1000}, 6.0F)));
    two->wait();
    EXPECT_EQ(all.sum().item<float>(), 18000);
    three->wait();
    EXPECT_EQ(from_last.sum().item<std::int64_t>(), 20);
  });
}

TEST(Collectives, the_board_shows_them_and_counts_no_transfers) {
  const ranks::RankSlot& slot = ranks::own_slot();
  run_ranks(1, [&](ProcessGroup& group) {
    const at::Tensor values = torch::ones({1});
    const at::Tensor other = torch::ones({1});
    const std::int64_t before = slot.collectives;
    group.reduce_scatter(other, values);
    EXPECT_EQ(slot.collective, ranks::Collective::ReduceScatter);
    group.all_to_all(other, values);
    EXPECT_EQ(slot.collective, ranks::Collective::AllToAll);
    EXPECT_EQ(slot.collectives, before + 2);
  });
  const std::int64_t before = slot.collectives;
  run_ranks(2, [&](ProcessGroup& group) {
    const at::Tensor values = torch::ones({1});
    group.is_first() ? group.send(values, 1) : group.receive(values, 0);
    EXPECT_THAT((std::vector{ranks::Collective::Send, ranks::Collective::Receive,
                             ranks::Collective::Barrier}),
                testing::Contains(slot.collective.load()));
  });
  EXPECT_EQ(slot.collectives, before + 2);  // the barrier at the end, on both
}

void expect_refused(const std::function<void()>& call, const std::string& why) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown: " << why;
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(why));
  }
}

TEST(Collectives, tensors_that_do_not_fit_are_refused_before_anything_travels) {
  run_ranks(2, [](ProcessGroup& group) {
    const at::Tensor four = torch::zeros({4});
    const at::Tensor three = torch::zeros({3});
    const at::Tensor column = torch::zeros({4, 2}).select(1, 0);
    expect_refused([&] { group.reduce_scatter(three, four); }, "4 elements is not 2 (ranks) of 3");
    expect_refused([&] { group.all_gather_into(four, three); }, "4 elements is not 2 (ranks) of 3");
    expect_refused([&] { group.all_gather_into(four, torch::zeros({2}, torch::kLong)); },
                   "of one type");
    expect_refused([&] { group.all_to_all(three, three); }, "3 rows are not equal pieces");
    expect_refused([&] { group.all_to_all(four, four, {.output = {}, .input = {1, 2}}); },
                   "pieces of 1, 2 rows are not 4 rows for 2 ranks");
    expect_refused([&] { group.all_to_all(column, four); }, "contiguous");
    expect_refused([&] { group.all_to_all(torch::zeros({4, 2}), four); }, "rows of one shape");
    expect_refused([&] { group.all_reduce_sum(column); }, "dense");
    expect_refused([&] { group.broadcast(four, 2); }, "no rank 2");
    expect_refused([&] { group.send(four, group.rank()); }, "cannot exchange with rank");
    expect_refused([&] { group.receive(four, 2); }, "cannot exchange with rank 2");
  });
  expect_refused([] { make_single_process_group()->send(torch::zeros({1}), 0); },
                 "rank 0 of 1 cannot exchange with rank 0");
}

enum class Peer { Gone, Hung };

// What rank 0 of two gets to hear when the other takes no part in `call`.
std::string without_peer(Peer peer, const std::function<void(ProcessGroup&)>& call) {
  const int port = find_free_port();
  const auto join = [port](std::int64_t rank) {
    MeetingOptions options = meeting_of(rank, 2, port);
    options.timeout = std::chrono::milliseconds(300);
    return meet(options);
  };
  std::promise<void> is_over;
  std::promise<void> is_idle;
  std::thread other([&] {
    auto group = join(1);
    ASSERT_TRUE(group);
    if (peer == Peer::Gone) {
      group->reset();
    }
    is_idle.set_value();
    is_over.get_future().wait();
  });
  const auto group = join(0);
  is_idle.get_future().wait();
  std::string message;
  try {
    call(**group);
  } catch (const PeerError& error) {
    message = error.what();
  }
  is_over.set_value();
  other.join();
  return message;
}

TEST(Collectives, a_peer_that_is_gone_or_hangs_is_an_error_in_each) {
  // More than the sockets hold.
  const at::Tensor large = torch::zeros({1 << 23});
  const at::Tensor two = torch::zeros({2});
  const at::Tensor one = torch::zeros({1});
  const std::vector<std::pair<std::string, std::function<void(ProcessGroup&)>>> calls = {
      {"all-reduce", [&](ProcessGroup& group) { group.all_reduce_max(two); }},
      {"broadcast", [&](ProcessGroup& group) { group.start_broadcast(two, 1)->wait(); }},
      {"reduce-scatter", [&](ProcessGroup& group) { group.reduce_scatter(one, two); }},
      {"all-gather", [&](ProcessGroup& group) { group.all_gather_into(two, one); }},
      {"all-to-all", [&](ProcessGroup& group) { group.all_to_all(torch::zeros({2}), two); }},
      {"send", [&](ProcessGroup& group) { group.send(large, 1); }},
      {"receive", [&](ProcessGroup& group) { group.receive(one, 1); }},
      {"all-gather", [&](ProcessGroup& group) { group.make_subgroup(0); }}};
  for (const auto& [name, call] : calls) {
    for (const Peer peer : {Peer::Gone, Peer::Hung}) {
      EXPECT_THAT(without_peer(peer, call),
                  HasSubstr("another rank is gone or hangs: the " + name + " failed"));
    }
  }
}

}  // namespace
}  // namespace kedge::dist
