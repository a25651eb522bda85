#include "track/history.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/result.h"
#include "track/attempt.h"
#include "track/event_log.h"

namespace kedge::track {
namespace {

struct LogFile {
  int attempt = 0;
  int rank = 0;
  Path path;

  auto order() const { return std::tie(attempt, rank); }
};

bool take_number(std::string_view& text, char letter, int& number) {
  if (text.empty() || text.front() != letter) {
    return false;
  }
  text.remove_prefix(1);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return parsed.ec == std::errc{} && number >= 0;
}

// "events-a2-r0.klog".
std::optional<LogFile> parse_log_name(const Path& path) {
  constexpr std::string_view kBegin = "events-";
  const std::string name = path.filename().string();
  std::string_view rest(name);
  LogFile file;
  file.path = path;
  if (!rest.starts_with(kBegin)) {
    return std::nullopt;
  }
  rest.remove_prefix(kBegin.size());
  if (!take_number(rest, 'a', file.attempt) || !rest.starts_with('-')) {
    return std::nullopt;
  }
  rest.remove_prefix(1);
  return take_number(rest, 'r', file.rank) && rest == ".klog" ? std::optional(file) : std::nullopt;
}

Result<std::vector<LogFile>> list_logs(const Path& run) {
  std::vector<LogFile> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(run, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (auto file = parse_log_name(entry->path())) {
      files.push_back(std::move(*file));
    }
  }
  if (error) {
    return std::unexpected(io_error("cannot read folder", run, error.value()));
  }
  std::ranges::sort(files, {}, &LogFile::order);
  return files;
}

std::int64_t integer_of(const nlohmann::json& json, const char* key, std::int64_t fallback) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? found->get<std::int64_t>() : fallback;
}

// Nothing when it is not a record as docs/formats/klog.md has it.
std::optional<Record> parse_record(nlohmann::json json, const LogFile& file) {
  if (!json.is_object()) {
    return std::nullopt;
  }
  const auto type = json.find("type");
  const auto body = json.find("body");
  if (type == json.end() || !type->is_string() || body == json.end()) {
    return std::nullopt;
  }
  Record record;
  record.attempt = file.attempt;
  record.rank = file.rank;
  record.seq = static_cast<std::uint64_t>(integer_of(json, "seq", 0));
  record.type = type->get<std::string>();
  record.step = integer_of(json, "step", 0);
  record.time_us = integer_of(json, "time", 0);
  record.body = std::move(*body);
  return record;
}

// Where each attempt began: from its file, or from the first record it logged.
std::map<int, std::int64_t> find_beginnings(const Path& run, const std::vector<LogFile>& files) {
  std::map<int, std::int64_t> beginnings;
  for (const AttemptFacts& attempt : list_attempts(run)) {
    if (attempt.from_step) {
      beginnings[attempt.number] = *attempt.from_step;
    }
  }
  for (const LogFile& file : files) {
    auto reader = EventLogReader::open(file.path);
    auto first = reader ? reader->next() : std::unexpected(reader.error());
    if (!first || !*first) {
      continue;
    }
    const auto record = parse_record(std::move(**first), file);
    if (record && record->type == "attempt" && record->body.is_object()) {
      beginnings.try_emplace(file.attempt, integer_of(record->body, "from_step", 0));
    }
  }
  return beginnings;
}

// The last step of an attempt that no later attempt has replaced.
std::int64_t find_last_kept_step(const std::map<int, std::int64_t>& beginnings, int attempt) {
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  for (auto later = beginnings.upper_bound(attempt); later != beginnings.end(); ++later) {
    last = std::min(last, later->second);
  }
  return last;
}

// What stopped the reading before the end of the file, if anything.
std::optional<std::string> read_log(const LogFile& file, std::int64_t last_step,
                                    const std::function<void(const Record&)>& visit) {
  auto reader = EventLogReader::open(file.path);
  if (!reader) {
    return reader.error().message;
  }
  for (;;) {
    auto next = reader->next();
    if (!next) {
      return next.error().message;
    }
    if (!*next) {
      return std::nullopt;
    }
    if (auto record = parse_record(std::move(**next), file)) {
      record->is_replaced = record->step > last_step;
      visit(*record);
    }
  }
}

void add_scalars(const Record& record, const HistoryOptions& options, History& history) {
  const auto add = [&](const std::string& key, const nlohmann::json& value) {
    if (!value.is_number() || (record.is_replaced && !options.with_replaced)) {
      return;
    }
    Curve& curve = history.curves[key];
    (record.is_replaced ? curve.replaced : curve.points)
        .push_back({record.step, value.get<double>(), record.time_us, record.attempt});
  };
  if (options.key.empty()) {
    for (const auto& [key, value] : record.body.items()) {
      add(key, value);
    }
  } else if (const auto found = record.body.find(options.key); found != record.body.end()) {
    add(options.key, *found);
  }
}

// Of several values at one step the last counts.
void order_curve(Curve& curve, bool with_replaced) {
  std::ranges::stable_sort(curve.points, {}, &Point::step);
  std::vector<Point> points;
  points.reserve(curve.points.size());
  for (const Point& point : curve.points) {
    if (!points.empty() && points.back().step == point.step) {
      if (with_replaced) {
        curve.replaced.push_back(points.back());
      }
      points.back() = point;
    } else {
      points.push_back(point);
    }
  }
  curve.points = std::move(points);
  std::ranges::stable_sort(curve.replaced, [](const Point& a, const Point& b) {
    return std::tie(a.step, a.attempt) < std::tie(b.step, b.attempt);
  });
}

}  // namespace

Result<std::vector<std::string>> read_records(const Path& run,
                                              const std::function<void(const Record&)>& visit) {
  const auto files = KEDGE_TRY(list_logs(run));
  const auto beginnings = find_beginnings(run, files);
  std::vector<std::string> problems;
  for (const LogFile& file : files) {
    if (auto problem = read_log(file, find_last_kept_step(beginnings, file.attempt), visit)) {
      problems.push_back(std::move(*problem));
    }
  }
  return problems;
}

Result<History> read_history(const Path& run, const HistoryOptions& options) {
  History history;
  history.problems = KEDGE_TRY(read_records(run, [&](const Record& record) {
    if (record.type == "scalars" && record.body.is_object()) {
      add_scalars(record, options, history);
    }
  }));
  for (auto& [key, curve] : history.curves) {
    order_curve(curve, options.with_replaced);
  }
  return history;
}

}  // namespace kedge::track
