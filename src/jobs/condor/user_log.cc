#include "jobs/condor/user_log.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>

namespace kedge::jobs::condor {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Takes the next line off the front, without its end.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

SystemTime from_local(std::tm parts) {
  parts.tm_isdst = -1;
  // A damaged line may say any year. The clock counts nanoseconds and ends in 2262; from 1970 on
  // differences fit too.
  constexpr std::time_t kLatest_s = 9'223'372'036;
  return std::chrono::system_clock::from_time_t(
      std::clamp<std::time_t>(std::mktime(&parts), 0, kLatest_s));
}

// A log without years is read within one of them: the latest date that is not in the future.
SystemTime with_year(std::tm parts, SystemTime now) {
  const std::time_t now_s = std::chrono::system_clock::to_time_t(now);
  std::tm today{};
  ::localtime_r(&now_s, &today);
  parts.tm_year = today.tm_year;
  const SystemTime this_year = from_local(parts);
  if (this_year <= now + std::chrono::hours(24)) {
    return this_year;
  }
  --parts.tm_year;
  return from_local(parts);
}

struct Head {
  Event event;
  bool is_event = false;
};

// "005 (001.000.000) 2026-11-15 17:41:27 Job terminated." or with "11/15 17:41:27".
Head parse_head(const std::string& line, SystemTime now) {
  int kind = 0;
  long cluster = 0;
  long process = 0;
  int rest = 0;
  // NOLINTNEXTLINE(cert-err34-c): a line that does not match is no event
  if (std::sscanf(line.c_str(), "%3d (%ld.%ld.%*d) %n", &kind, &cluster, &process, &rest) != 3 ||
      rest == 0) {
    return {};
  }
  Head head;
  head.event.kind = static_cast<EventKind>(kind);
  head.event.job = {cluster, process};
  const std::string when = line.substr(static_cast<std::size_t>(rest));
  std::tm parts{};
  const char* end = ::strptime(when.c_str(), "%Y-%m-%d %H:%M:%S", &parts);
  if (end != nullptr) {
    head.event.time = from_local(parts);
  } else {
    parts = {};
    end = ::strptime(when.c_str(), "%m/%d %H:%M:%S", &parts);
    if (end == nullptr) {
      return {};
    }
    head.event.time = with_year(parts, now);
  }
  // A site may ask for fractions of seconds: ".123".
  const std::string_view text = end;
  const std::size_t begin = text.find(' ');
  head.event.text = begin == std::string_view::npos ? "" : std::string(trimmed(text.substr(begin)));
  head.is_event = true;
  return head;
}

std::optional<double> parse_cell(std::string_view cell) {
  double value = 0;
  cell = trimmed(cell);
  const auto parsed = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return !cell.empty() && parsed.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

// Cells are right-aligned below the words of the head, so a missing one is known by its place.
class ResourceTable {
 public:
  // "Partitionable Resources :    Usage  Request Allocated [Assigned]", as indented as its rows.
  bool begin(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (line.find("Partitionable Resources") == std::string_view::npos ||
        colon == std::string_view::npos) {
      return false;
    }
    ends_.clear();
    for (const std::string_view word : {"Usage", "Request", "Allocated"}) {
      const std::size_t at = line.find(word, colon);
      ends_.push_back(at == std::string_view::npos ? 0 : at + word.size() - colon);
    }
    return true;
  }

  // False when the line is no row of it.
  bool add(std::string_view line, std::map<std::string, ResourceUse>& resources) const {
    const std::size_t colon = line.find(':');
    if (ends_.empty() || colon == std::string_view::npos) {
      return false;
    }
    const std::string name(trimmed(line.substr(0, colon)));
    const std::string_view cells = line.substr(colon);
    ResourceUse use;
    std::size_t begin = 1;
    for (const auto& [end, target] :
         {std::pair(ends_[0], &use.used), std::pair(ends_[1], &use.requested),
          std::pair(ends_[2], &use.allocated)}) {
      if (end > begin && begin < cells.size()) {
        *target = parse_cell(cells.substr(begin, end - begin));
        begin = end;
      }
    }
    resources[name] = use;
    return true;
  }

 private:
  std::vector<std::size_t> ends_;  // behind the colon
};

void keep_largest(std::map<std::string, ResourceUse>& all,
                  const std::map<std::string, ResourceUse>& some) {
  for (const auto& [name, use] : some) {
    ResourceUse& kept = all[name];
    if (use.used && (!kept.used || *use.used > *kept.used)) {
      kept.used = use.used;
    }
    kept.requested = use.requested ? use.requested : kept.requested;
    kept.allocated = use.allocated ? use.allocated : kept.allocated;
  }
}

// "Usr 0 00:00:12, Sys 0 00:00:01  -  Total Remote Usage": days, then a clock.
std::optional<double> parse_cpu_time(const std::string& line) {
  double ud = 0, uh = 0, um = 0, us = 0, sd = 0, sh = 0, sm = 0, ss = 0;
  int end = 0;
  const int count = std::sscanf(line.c_str(), "Usr %lf %lf:%lf:%lf, Sys %lf %lf:%lf:%lf%n", &ud,
                                &uh, &um, &us, &sd, &sh, &sm, &ss, &end);
  if (count != 8 || line.find("Remote Usage", static_cast<std::size_t>(end)) == line.npos) {
    return std::nullopt;
  }
  return ((ud + sd) * 24 + uh + sh) * 3600 + (um + sm) * 60 + us + ss;
}

// Hold codes 46 and 47: the allowed job and execute duration were exceeded.
bool is_over_limit(const Event& event) {
  return std::ranges::any_of(event.details, [](const std::string& line) {
    return line.starts_with("Code 46 ") || line.starts_with("Code 47 ");
  });
}

void read_end(JobStory& story, const Event& event) {
  for (const std::string& line : event.details) {
    int number = 0;
    if (const auto cpu_s = parse_cpu_time(line)) {
      story.cpu_s = std::max(story.cpu_s.value_or(0), *cpu_s);
    }
    if (std::sscanf(line.c_str(), "(%*d) Normal termination (return value %d)", &number) == 1) {
      story.exit_code = number;
    }
    if (std::sscanf(line.c_str(), "(%*d) Abnormal termination (signal %d)", &number) == 1) {
      story.signal = number;
    }
  }
}

std::string find_slot(const Event& event) {
  constexpr std::string_view kSlot = "SlotName: ";
  for (const std::string& line : event.details) {
    if (line.starts_with(kSlot)) {
      return line.substr(kSlot.size());
    }
  }
  return "";
}

double seconds_between(SystemTime from, SystemTime to) {
  return std::chrono::duration<double>(to - from).count();
}

// Adds events to a story, in order.
class Storyteller {
 public:
  void add(const Event& event) {
    keep_largest(story_.resources, event.resources);
    // A hold and a removal take the job off its machine first; that is no eviction of its own.
    const bool is_taken = event.kind == EventKind::Held || event.kind == EventKind::Aborted;
    if (is_taken && last_ == EventKind::Evicted) {
      --story_.evictions;
    }
    last_ = event.kind;
    switch (event.kind) {
      case EventKind::Submitted:
        story_.submitted = event.time;
        break;
      case EventKind::Executing:
        start(event);
        break;
      case EventKind::Evicted:
        ++story_.evictions;
        stop(event.time);
        break;
      case EventKind::ShadowException:
      case EventKind::ReconnectFailed:
        stop(event.time);
        break;
      case EventKind::RemoteError:
        story_.reason = event.details.empty() ? event.text : event.details.front();
        break;
      case EventKind::Held:
        stop(event.time);
        story_.is_held = true;
        story_.is_over_limit = is_over_limit(event);
        story_.reason = event.details.empty() ? "" : event.details.front();
        break;
      case EventKind::Released:
        story_.is_held = false;
        story_.reason.clear();
        break;
      case EventKind::Terminated:
        stop(event.time);
        read_end(story_, event);
        story_.ended = event.time;
        break;
      case EventKind::Aborted:
        stop(event.time);
        story_.is_removed = true;
        story_.is_held = false;
        story_.reason = event.details.empty() ? "" : event.details.front();
        story_.ended = event.time;
        break;
      case EventKind::FileTransfer:
        story_.transfers_home += event.text == "Finished transferring output files" ? 1 : 0;
        break;
      default:
        break;
    }
  }

  JobStory take() { return std::move(story_); }

 private:
  void start(const Event& event) {
    ++story_.starts;
    story_.is_running = true;
    started_ = event.time;
    if (!story_.first_start) {
      story_.first_start = event.time;
    }
    if (std::string slot = find_slot(event); !slot.empty()) {
      story_.host = std::move(slot);
    }
  }

  void stop(SystemTime time) {
    if (story_.is_running) {
      story_.executing_s += std::max(0.0, seconds_between(started_, time));
    }
    story_.is_running = false;
  }

  JobStory story_;
  SystemTime started_;
  EventKind last_ = EventKind::Submitted;
};

}  // namespace

std::vector<Event> parse_user_log(std::string_view text, SystemTime now) {
  std::vector<Event> events;
  std::optional<Event> current;
  ResourceTable table;
  bool is_in_table = false;
  while (const auto line = take_line(text)) {
    if (*line == "...") {
      if (current) {
        events.push_back(*std::move(current));
      }
      current.reset();
      is_in_table = false;
      continue;
    }
    if (!current) {
      if (Head head = parse_head(std::string(*line), now); head.is_event) {
        current = std::move(head.event);
      }
      continue;
    }
    if (table.begin(*line)) {
      is_in_table = true;
    } else if (is_in_table && table.add(*line, current->resources)) {
      continue;
    } else {
      is_in_table = false;
      current->details.emplace_back(trimmed(*line));
    }
  }
  return events;
}

std::vector<Event> read_user_log(const Path& file) {
  const auto text = read_file(file);
  return text ? parse_user_log(*text, std::chrono::system_clock::now()) : std::vector<Event>{};
}

JobStory tell_story(const std::vector<Event>& events, JobId job) {
  Storyteller teller;
  for (const Event& event : events) {
    if (event.job == job) {
      teller.add(event);
    }
  }
  return teller.take();
}

}  // namespace kedge::jobs::condor
