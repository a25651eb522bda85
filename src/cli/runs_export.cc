#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/runs.h"
#include "cli/shared/arguments.h"
#include "core/inside.h"
#include "core/log.h"
#include "exchange/curves.h"
#include "exchange/event_file.h"
#include "exchange/table.h"
#include "track/history.h"
#include "track/run_list.h"

namespace kedge::cli {
namespace {

// The list of numbers under this key; what is none becomes 0: logs of other writers are not ours.
std::vector<double> numbers_in(const nlohmann::json& body, const char* key) {
  std::vector<double> numbers;
  const auto list = body.find(key);
  if (list != body.end() && list->is_array()) {
    for (const nlohmann::json& item : *list) {
      numbers.push_back(item.is_number() ? item.get<double>() : 0);
    }
  }
  return numbers;
}

std::string text_in(const nlohmann::json& body, const char* key) {
  const auto text = body.find(key);
  return text != body.end() && text->is_string() ? text->get<std::string>() : std::string();
}

// A PNG says its size in its first chunk.
exchange::EventImages image_of(std::string png) {
  constexpr std::size_t kWidthAt = 16;
  constexpr std::size_t kHeightAt = 20;
  const auto number_at = [&](std::size_t at) {
    std::int64_t number = 0;
    for (std::size_t i = at; i < at + 4 && i < png.size(); ++i) {
      number = number << 8U | static_cast<unsigned char>(png[i]);
    }
    return number;
  };
  const std::int64_t width = number_at(kWidthAt);
  const std::int64_t height = number_at(kHeightAt);
  return {width, height, {std::move(png)}};
}

// What TensorBoard can show of a record that is no curve.
std::optional<exchange::EventValue> event_value_of(const track::Record& record, const Path& run) {
  const auto text = [&](const char* key) { return text_in(record.body, key); };
  if (record.type == "histogram") {
    exchange::EventHistogram histogram{numbers_in(record.body, "edges"),
                                       numbers_in(record.body, "counts")};
    if (histogram.edges.size() != histogram.counts.size() + 1) {
      return std::nullopt;
    }
    return exchange::EventValue{text("key"), std::move(histogram)};
  }
  if (record.type == "text") {
    return exchange::EventValue{text("key"), exchange::EventText{text("text")}};
  }
  if (record.type == "image") {
    auto png = read_inside(run, text("path"));
    if (!png) {
      warn("{}", png.error().message);
      return std::nullopt;
    }
    return exchange::EventValue{text("name"), image_of(*std::move(png))};
  }
  return std::nullopt;
}

Result<void> export_events(const Path& run, const track::History& history, const Path& out) {
  std::map<std::pair<std::int64_t, std::int64_t>, exchange::Event> events;  // by step and time
  const auto add = [&](std::int64_t step, std::int64_t time_us, exchange::EventValue value) {
    exchange::Event& event = events[{step, time_us}];
    event.step = step;
    event.time_us = time_us;
    event.values.push_back(std::move(value));
  };
  for (const auto& [key, curve] : history.curves) {
    for (const track::Point& point : curve.points) {
      add(point.step, point.time_us, {key, point.value});
    }
  }
  KEDGE_TRY(track::read_records(run, [&](const track::Record& record) {
    if (record.is_replaced) {
      return;
    }
    if (auto value = event_value_of(record, run)) {
      add(record.step, record.time_us, *std::move(value));
    }
  }));
  auto writer = KEDGE_TRY(
      exchange::EventFileWriter::create(out, events.empty() ? 0 : events.begin()->second.time_us));
  for (const auto& [place, event] : events) {
    KEDGE_TRY(writer.add(event));
  }
  KEDGE_TRY(writer.finish());
  fmt::print("{}\n", writer.path().string());
  return {};
}

Result<void> export_table(const track::History& history, exchange::TableFormat format, bool is_wide,
                          const Path& out) {
  const auto columns = is_wide ? exchange::wide_columns(history) : exchange::long_columns();
  const auto fill = [&](exchange::TableWriter& table) {
    return is_wide ? exchange::write_wide(history, table) : exchange::write_long(history, table);
  };
  if (!out.empty()) {
    KEDGE_TRY(exchange::write_table(out, format, columns, fill));
    fmt::print("{}\n", out.string());
    return {};
  }
  const auto print = [](std::string_view bytes) {
    return write_all(STDOUT_FILENO, bytes, "standard output");
  };
  const auto table = KEDGE_TRY(exchange::make_table_writer(format, columns, print));
  KEDGE_TRY(fill(*table));
  return table->finish();
}

}  // namespace

Result<void> export_run(Args args) {
  const VerbHelp help = {
      .usage = "kedge runs export RUN [--format csv|jsonl|parquet|tensorboard] [--out PATH]",
      .text =
          "Writes a run's newest curves for other programs. tensorboard: a folder that TensorBoard "
          "opens, with histograms, texts and images. RUN: a run's folder, id or name.",
      .flags = {{"--format", "F", "csv, jsonl, parquet or tensorboard (csv)"},
                {"--out", "PATH", "the file, or the folder for tensorboard (standard output)"},
                {"--wide", "", "one row a step and one column a metric, not one row a value"},
                {"--key", "K", "only this metric"},
                {"--dir", "DIR", "the folder of runs (runs)"}}};
  const auto arguments = KEDGE_TRY(parse_or_help(args, help));
  if (!arguments) {
    return {};
  }
  const std::string usage = fmt::format("usage: {}", help.usage);
  if (arguments->positionals().size() != 1 || !arguments->overrides().empty()) {
    return fail(ErrorKind::Usage, "runs export needs one run", usage);
  }
  const std::string format = arguments->value("--format", "csv");
  const auto table_format = exchange::parse_table_format(format);
  const Path out = arguments->value("--out");
  if (!table_format && format != "tensorboard") {
    return fail(ErrorKind::Usage, fmt::format("unknown format '{}'", format), usage);
  }
  if (!table_format && out.empty()) {
    return fail(ErrorKind::Usage, "--format tensorboard needs --out FOLDER", usage);
  }
  const Path run = KEDGE_TRY(
      track::find_run_folder(arguments->positionals().front(), arguments->value("--dir", "runs")));
  const track::History history = KEDGE_TRY(
      track::read_history(run, {.key = arguments->value("--key"), .with_replaced = false}));
  for (const std::string& problem : history.problems) {
    warn("{}", problem);
  }
  return table_format ? export_table(history, *table_format, arguments->has("--wide"), out)
                      : export_events(run, history, out);
}

}  // namespace kedge::cli
