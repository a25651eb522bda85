// Metrics in what any program prints or writes: "epoch 3: loss=0.12, accuracy: 91.2 %", JSON
// objects, rows of a CSV table. A pure reader of lines; where they go is the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kedge::exchange {

struct LineValues {
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> values;
};

class LineMetrics {
 public:
  // With `is_table` the first line names the columns of a CSV table; without, lines are texts and
  // JSON objects in any order.
  explicit LineMetrics(bool is_table = false) : is_table_(is_table) {}

  // Nothing: the line has no values. The step is what the line says under step, iteration, iter,
  // batch or epoch; without such a word, one more than the last. Steps never go back: a count that
  // begins anew with each epoch goes on behind the last step.
  std::optional<LineValues> read(std::string_view line);

 private:
  struct Pair {
    std::string name;
    double value = 0;
  };

  static std::vector<Pair> read_text(std::string_view line);
  static std::vector<Pair> read_json(std::string_view line);
  std::vector<Pair> read_row(std::string_view line);
  std::optional<LineValues> place(std::vector<Pair> pairs);

  bool is_table_;
  std::vector<std::string> columns_;
  std::optional<std::int64_t> last_;
};

}  // namespace kedge::exchange
