#include "exchange/line_metrics.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kedge::exchange {
namespace {

using testing::ElementsAre;
using testing::Pair;

// "step: name=value ..." of what was found, or "-".
std::string found(LineMetrics& metrics, const std::string& line) {
  const auto values = metrics.read(line);
  if (!values) {
    return "-";
  }
  std::string text = std::to_string(values->step) + ":";
  for (const auto& [name, value] : values->values) {
    text += " " + name + "=" + std::to_string(value).substr(0, 6);
  }
  return text;
}

std::string found(const std::string& line) {
  LineMetrics metrics;
  return found(metrics, line);
}

TEST(LineMetrics, names_and_numbers_as_programs_print_them) {
  EXPECT_EQ(found("loss=0.12 acc: 91.2%"), "1: loss=0.1200 acc=91.200");
  EXPECT_EQ(found("Epoch 3/10, train_loss = 0.5, val/acc: 7e-1."),
            "3: train_loss=0.5000 val/acc=0.7000");
  EXPECT_EQ(found("Epoch: 2 | step: 40 | lr=1e-3"), "40: Epoch=2.0000 lr=0.0010");
  EXPECT_EQ(found("Epoch [2/5], Step [30/60], Loss: 2.3"), "30: Epoch=2.0000 Loss=2.3000");
  EXPECT_EQ(found("50/50 [00:01<00:00, 41.2it/s, loss=nan]").substr(0, 8), "1: loss=");
  EXPECT_EQ(found("\033[32mloss\033[0m: \033[1m0.25\033[0m"), "1: loss=0.2500");
}

TEST(LineMetrics, what_is_no_metric_is_none) {
  for (const char* line : {"", "training on cuda:0", "listening on localhost:8080",
                           "http://127.0.0.1:8080/x=1y", "12:30:05 ready", "epoch 3/10", "time=12s",
                           "version=1.2.3", "files: 3/7 done", "name=value", "seed 7"}) {
    EXPECT_EQ(found(line), "-") << line;
  }
}

TEST(LineMetrics, json_objects_are_read_by_their_members) {
  EXPECT_EQ(found(R"({"step": 7, "loss": 0.5, "val": {"acc": 0.25}, "name": "x", "ok": true})"),
            "7: loss=0.5000 val.acc=0.2500");
  EXPECT_EQ(found(R"({"val/loss": 2})"), "1: val/loss=2.0000");
  EXPECT_EQ(found(R"({"loss": )"), "-");
}

TEST(LineMetrics, steps_count_on_where_a_line_names_none) {
  LineMetrics metrics;
  EXPECT_EQ(found(metrics, "loss=3"), "1: loss=3.0000");
  EXPECT_EQ(found(metrics, "loss=2"), "2: loss=2.0000");
  EXPECT_EQ(found(metrics, "step 10 loss=1"), "10: loss=1.0000");
  EXPECT_EQ(found(metrics, "epoch 1 val_loss=1"), "10: val_loss=1.0000");
  EXPECT_EQ(found(metrics, "step 1 loss=0.5"), "11: loss=0.5000");
}

TEST(LineMetrics, a_table_has_its_names_in_the_first_line) {
  LineMetrics metrics(true);
  EXPECT_EQ(found(metrics, "epoch,train loss,\"val,acc\",note"), "-");
  EXPECT_EQ(found(metrics, "1,0.5,0.25,good\r"), "1: train loss=0.5000 val,acc=0.2500");
  EXPECT_EQ(found(metrics, "2,,0.75,"), "2: val,acc=0.7500");
}

}  // namespace
}  // namespace kedge::exchange
