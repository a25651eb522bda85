// The language that picks and orders runs: `loss < 0.1 and config.lr in [1e-3, 1e-2]`, and
// `-summary.val/accuracy`. docs/reference/query.md is for its users.
//
// A query is compiled once against the keys the store knows, so that looking at a run compares
// numbers of keys, never their names. Nothing here reads clocks or databases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"

namespace kedge::store {

// What a run says of itself, apart from config and metrics.
enum class RunFact : std::uint8_t {
  Id,
  Name,
  Project,
  State,
  User,
  Host,
  Group,
  JobType,
  Source,
  Notes,
  Parent,
  Sweep,
  Created,  // microseconds of Unix time, Int, as the next two
  Ended,
  Heartbeat,
  Duration,  // seconds, Float
  Attempt,
  LastStep,
};

enum class SummaryPart : std::uint8_t { Last, Min, Max, Count, LastStep };

// monostate: the run has no such thing. nullptr: it is null.
using QueryValue =
    std::variant<std::monostate, std::nullptr_t, bool, std::int64_t, double, std::string_view>;

using KeyId = std::uint32_t;

// The numbers of the names that any run has. A name that is not there is missing in every run.
class QueryKeys {
 public:
  virtual ~QueryKeys() = default;
  virtual std::optional<KeyId> find_config(std::string_view key) const = 0;  // "optimizer.lr"
  virtual std::optional<KeyId> find_metric(std::string_view key) const = 0;  // "val/accuracy"
  virtual std::optional<KeyId> find_label(std::string_view key) const = 0;   // "mlflow.user"
  // For "did you mean": names near to this one would be enough.
  virtual std::vector<std::string> config_names() const = 0;
  virtual std::vector<std::string> metric_names() const = 0;
  virtual std::vector<std::string> label_names() const = 0;
};

// One run as a query sees it. Texts must live as long as the run.
class QueriedRun {
 public:
  virtual ~QueriedRun() = default;
  virtual QueryValue fact(RunFact fact) const = 0;
  virtual QueryValue config(KeyId key) const = 0;
  virtual QueryValue summary(KeyId key, SummaryPart part) const = 0;
  virtual QueryValue label(KeyId key) const = 0;
  virtual std::size_t tag_count() const = 0;
  virtual std::string_view tag(std::size_t index) const = 0;
};

// What a condition or an order of another language looks at. `made` holds a text that is made for
// it, as long as the value is used.
using RunView = std::function<QueryValue(const QueriedRun& run, std::string& made)>;

// A filter of another language as the tree that this one's texts are compiled into, too. A run
// without the value passes none of its leaves.
struct Condition {
  enum class Kind : std::uint8_t {
    All,  // of `children`; of none: true
    Any,
    Not,  // the first of `children`
    Exists,
    Equal,  // to one of `values`
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Match,
  };

  Kind kind = Kind::All;
  std::vector<Condition> children = {};
  RunView view = {};
  std::vector<std::variant<double, std::string>> values = {};  // of Equal any number, else one
  std::function<bool(std::string_view text)> is_match = {};    // of Match
};

struct ViewOrder {
  RunView view;
  bool is_descending = false;
};

struct SearchPlan {
  Condition filter = {};
  std::vector<ViewOrder> order = {};  // empty: newest first
};

// A longer or deeper filter is refused.
inline constexpr std::size_t kMaxQueryBytes = 64UL << 10U;
inline constexpr std::size_t kMaxQueryDepth = 64;
inline constexpr std::size_t kMaxOrderTerms = 8;

class RunFilter {
 public:
  // Usage errors name the column (in characters, from 1) and what was expected there. An empty text
  // picks every run. `now_us` is what `created > -7d` counts from.
  static Result<RunFilter> compile(std::string_view text, const QueryKeys& keys,
                                   std::int64_t now_us);

  static RunFilter compile(const Condition& condition);

  RunFilter(RunFilter&&) noexcept;
  RunFilter& operator=(RunFilter&&) noexcept;
  ~RunFilter();

  bool matches(const QueriedRun& run) const;

  // Sentences about names that no run has, with the nearest one; the query is valid all the same.
  const std::vector<std::string>& warnings() const;

 private:
  struct Plan;
  explicit RunFilter(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> plan_;
};

class RunOrder {
 public:
  // Terms like "-summary.val/accuracy" and "created", the first the most important.
  static Result<RunOrder> compile(std::span<const std::string> terms, const QueryKeys& keys);
  static RunOrder compile(std::vector<ViewOrder> terms);

  RunOrder(RunOrder&&) noexcept;
  RunOrder& operator=(RunOrder&&) noexcept;
  ~RunOrder();

  // The places in `runs` of the first `limit` of them in this order, of which `offset` are left
  // out. Both ways, runs without the value come last and NaN before them; equal ones keep their
  // order.
  std::vector<std::size_t> sorted(std::span<const QueriedRun* const> runs, std::size_t offset,
                                  std::size_t limit) const;

 private:
  struct Plan;
  explicit RunOrder(std::unique_ptr<Plan> plan);
  std::unique_ptr<Plan> plan_;
};

// One name as it stands in a filter, for lists of fields to show: "config.a.b", "val/accuracy.min".
struct FieldName {
  enum class Kind : std::uint8_t { Fact, Tag, Config, Summary, Label };
  Kind kind = Kind::Fact;
  RunFact fact = RunFact::Id;
  std::string key;                       // of Config, Summary and Label
  SummaryPart part = SummaryPart::Last;  // of Summary
};

Result<FieldName> parse_field_name(std::string_view text);

}  // namespace kedge::store
