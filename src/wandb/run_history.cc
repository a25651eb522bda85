// Reading of history, system metrics and console.
#include <algorithm>
#include <array>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wandb/internal/encoding.h"
#include "wandb/internal/history.h"
#include "wandb/internal/lenient_json.h"
#include "wandb/internal/nodes.h"

namespace kedge::wandb {
namespace {

using graphql::Args;
using graphql::make_node;
using graphql::TypeBuilder;
using graphql::Value;
using nlohmann::json;

// Files of columns for long histories. There are none: all rows are live.
struct ParquetHistory {};

std::size_t samples_of(const Args& args) {
  return static_cast<std::size_t>(std::max<std::int64_t>(args.number("samples").value_or(500), 0));
}

// The rows as JSON, if they are not too many.
Result<json> answer_rows(const RunNode& run, const std::vector<std::string>& rows) {
  std::size_t bytes = 0;
  for (const std::string& row : rows) {
    bytes += row.size();
  }
  KEDGE_TRY(run.call().count_answer(bytes));
  return json(rows);
}

// A page asks for steps, minStep included and maxStep not, and wants all of them.
Result<json> history_of(const RunNode& run, const Args& args) {
  const auto min = args.number("minStep");
  const auto max = args.number("maxStep");
  if (!min && !max) {
    return answer_rows(run, sample(KEDGE_TRY(read_history(run)), samples_of(args)));
  }
  StepRange range;
  range.min = min.value_or(range.min);
  range.max = max ? *max - 1 : range.max;
  return answer_rows(run, KEDGE_TRY(read_history(run, range)));
}

Result<json> sampled_of(const RunNode& run, const Args& args) {
  json all = json::array();
  for (const std::string& text : args.texts("specs")) {
    const json spec = KEDGE_TRY(parse_lenient(text));
    json rows = spec.is_object() && spec.contains("keys") ? KEDGE_TRY(read_sampled(run, spec))
                                                          : json::array();
    KEDGE_TRY(run.call().count_answer(render_lenient(rows).size()));
    all.push_back(std::move(rows));
  }
  return all;
}

// The last line, as a text that holds a list of texts.
json render_tail(const std::vector<std::string>& rows) {
  return json(json(rows).dump(-1, ' ', false, json::error_handler_t::replace));
}

Result<json> events_tail(const RunNode& run) {
  std::vector<std::string> rows = KEDGE_TRY(read_events(run));
  if (rows.size() > 1) {
    rows.erase(rows.begin(), rows.end() - 1);
  }
  return render_tail(rows);
}

std::string render_line_time(std::int64_t time_us) {
  std::string text = render_time(time_us);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, time_us % 1'000'000);
}

Result<std::uint64_t> count_lines(const RunNode& run) {
  return KEDGE_TRY(run.call().api.store.read_console(run.key(), 0, 0)).total;
}

Result<Value> log_lines(const RunNode& run, const Args& args) {
  const std::uint64_t total = KEDGE_TRY(count_lines(run));
  PageRequest page = parse_page(args, 1000);
  if (const auto last = args.number("last")) {
    constexpr std::int64_t kMostLines = 10'000;
    const auto count = static_cast<std::uint64_t>(std::clamp<std::int64_t>(*last, 0, kMostLines));
    page = {.offset = static_cast<std::size_t>(total - std::min(total, count)),
            .limit = static_cast<std::size_t>(count)};
  }
  const store::Console console =
      KEDGE_TRY(run.call().api.store.read_console(run.key(), page.offset, page.limit));
  Connection lines{.offset = page.offset, .total = static_cast<std::size_t>(total)};
  for (const store::ConsoleLine& line : console.lines) {
    KEDGE_TRY(run.call().count_answer(line.text.size()));
    lines.nodes.push_back(make_node(line));
  }
  lines.has_next = page.offset + lines.nodes.size() < total;
  return make_node(std::move(lines));
}

void declare_lines(graphql::Schema& schema) {
  TypeBuilder<store::ConsoleLine>(schema, "LogLine")
      .leaf("number", [](const store::ConsoleLine& line) { return line.n; })
      .leaf("timestamp",
            [](const store::ConsoleLine& line) { return render_line_time(line.time_us); })
      .leaf("level", [](const store::ConsoleLine& line) { return line.is_error ? "error" : ""; })
      .leaf("label", [](const store::ConsoleLine&) { return ""; })
      .leaf("line", [](const store::ConsoleLine& line) { return line.text; });
  declare_connection(schema, "LogLine", "LogLine");
}

}  // namespace

void declare_run_history(graphql::Schema& schema) {
  declare_lines(schema);
  TypeBuilder<ParquetHistory>(schema, "ParquetHistory")
      .leaf("parquetUrls", [](const ParquetHistory&) { return json::array(); })
      .leaf("liveData", [](const ParquetHistory&) { return json::array(); });
  TypeBuilder<RunNode>(schema, "Run")
      .leaf("historyLineCount", count_history)
      .leaf("eventsLineCount",
            [](const RunNode& run) {
              return run.call().transcript().count_rows(run.key(), store::RowStream::Events);
            })
      .leaf("logLineCount", count_lines)
      .leaf("historyTail",
            [](const RunNode& run) -> Result<json> {
              return render_tail(KEDGE_TRY(read_last_row(run)));
            })
      .leaf("eventsTail", events_tail)
      .leaf("historyKeys", describe_keys)
      .leaf("history", history_of)
      .leaf("events",
            [](const RunNode& run, const Args& args) -> Result<json> {
              return answer_rows(run, sample(KEDGE_TRY(read_events(run)), samples_of(args)));
            })
      .leaf("sampledHistory", sampled_of)
      .object("parquetHistory", "ParquetHistory", [](const RunNode&) { return ParquetHistory(); })
      .object("logLines", "LogLineConnection", log_lines);
}

}  // namespace kedge::wandb
