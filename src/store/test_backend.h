// A test on a store of each database: derive from BackendTest, and KEDGE_EACH_BACKEND(TheTest).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.h"
#include "core/scratch_folder.h"
#include "store/store.h"
#include "store/test_postgres.h"

namespace kedge::store {

inline constexpr std::int64_t kNow = 1'794'719'617'000'000;
inline constexpr std::int64_t kSecond = 1'000'000;

class BackendTest : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (GetParam() == "sqlite") {
      address_ = folder_.path().string();
    } else if (TestPostgres::instance().is_running()) {
      address_ = TestPostgres::instance().make_database();
    } else {
      GTEST_SKIP() << TestPostgres::instance().why_not();
    }
    reopen();
  }

  void reopen(std::int64_t now_us = kNow) {
    store_.reset();
    auto opened = Store::open(address_, now_us);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }

  RunKey make_run(const std::string& id, const RunPatch& patch = {}) {
    const RunKey key{"mnist", id};
    const auto made = store_->create_run(key, patch, kNow);
    EXPECT_TRUE(made) << made.error().message;
    return key;
  }

  IngestAnswer ingest(const RunKey& key, const std::string& writer, std::uint64_t from_seq,
                      const std::string& frames) {
    const auto answer = store_->ingest({key, writer, from_seq, frames}, kNow);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or(IngestAnswer());
  }

  std::vector<std::string> find_ids(const Search& search) {
    const auto found = store_->search(search, kNow);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> ids;
    for (const store::Run& run : found->runs) {
      ids.push_back(run.facts.id);
    }
    return ids;
  }

  std::vector<double> values_of(const RunKey& key, const std::string& name) {
    const auto curve = store_->read_history(key, name);
    EXPECT_TRUE(curve) << curve.error().message;
    std::vector<double> values;
    for (const track::Point& point : curve->points) {
      values.push_back(point.value);
    }
    return values;
  }

  ScratchFolder folder_;
  std::string address_;
  std::unique_ptr<Store> store_;
};

#define KEDGE_EACH_BACKEND(test)                                              \
  INSTANTIATE_TEST_SUITE_P(Each, test, testing::Values("sqlite", "postgres"), \
                           [](const auto& one) { return std::string(one.param); })

}  // namespace kedge::store
