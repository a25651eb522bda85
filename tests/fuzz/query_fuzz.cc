// RunFilter, RunOrder and Pattern on any text: 'o' first, an order; 'p', a pattern and, behind a
// zero byte, a text for it; anything else, a filter, which is then asked about a run.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "input_file.h"
#include "store/pattern.h"
#include "store/query.h"

namespace {

using namespace kedge;
using namespace kedge::store;

class Keys : public QueryKeys {
 public:
  std::optional<KeyId> find_config(std::string_view key) const override { return find(key); }

  std::optional<KeyId> find_metric(std::string_view key) const override { return find(key); }

  std::optional<KeyId> find_label(std::string_view key) const override { return find(key); }

  std::vector<std::string> config_names() const override { return {"lr", "seed"}; }

  std::vector<std::string> metric_names() const override { return {"loss", "val/accuracy"}; }

  std::vector<std::string> label_names() const override { return {"mlflow.user"}; }

 private:
  static std::optional<KeyId> find(std::string_view key) {
    return key.size() % 5 == 0 ? std::nullopt : std::optional(static_cast<KeyId>(key.size() % 5));
  }
};

class AnyRun : public QueriedRun {
 public:
  explicit AnyRun(std::string_view text) : text_(text) {}

  QueryValue fact(RunFact fact) const override { return value(static_cast<unsigned>(fact)); }

  QueryValue config(KeyId key) const override { return value(key); }

  QueryValue summary(KeyId key, SummaryPart part) const override {
    return value(key + static_cast<unsigned>(part));
  }

  QueryValue label(KeyId) const override { return text_; }

  std::size_t tag_count() const override { return 2; }

  std::string_view tag(std::size_t index) const override { return text_.substr(index); }

 private:
  QueryValue value(unsigned number) const {
    switch (number % 6) {
      case 0:
        return {};
      case 1:
        return nullptr;
      case 2:
        return std::numeric_limits<std::int64_t>::max();
      case 3:
        return std::numeric_limits<double>::quiet_NaN();
      case 4:
        return true;
      default:
        return text_;
    }
  }

  std::string_view text_;
};

void order_by(std::string_view input) {
  std::vector<std::string> terms;
  while (!input.empty()) {
    terms.emplace_back(take_until_zero(input));
  }
  if (const auto order = RunOrder::compile(terms, Keys())) {
    const AnyRun a("one");
    const AnyRun b("two");
    const std::vector<const QueriedRun*> runs = {&a, &b, &a};
    KEDGE_CHECK(order->sorted(runs, 0, 3).size() == 3, "ordering loses nobody");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = as_text(data, size);
  const char mode = input.empty() ? ' ' : input[0];
  if (mode == 'o') {
    order_by(input.substr(1));
  } else if (mode == 'p') {
    input.remove_prefix(1);
    if (const auto pattern = Pattern::compile(take_until_zero(input))) {
      (void)pattern->is_in(input);
    }
  } else if (const auto filter = RunFilter::compile(input, Keys(), 1'794'700'800'000'000)) {
    const AnyRun run("resnet18");
    const bool is_in = filter->matches(run);
    const auto opposite =
        RunFilter::compile("not (" + std::string(input) + ")", Keys(), 1'794'700'800'000'000);
    KEDGE_CHECK(!opposite || opposite->matches(run) != is_in, "not is the opposite");
  }
  return 0;
}
