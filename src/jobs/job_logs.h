// What the tasks of a job have printed, over all its files, in the order of time: `kedge task` puts
// time and host before each line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "jobs/job_book.h"

namespace kedge::jobs {

struct LogLine {
  std::string time;  // "2026-11-15T17:45:01.123Z"; of the line before where it has none of its own
  std::string text;  // as it is in the file
  std::int64_t task = 0;
};

// The files that a submission's pattern has led to, with the task where it is in the name.
struct LogFile {
  Path path;
  std::int64_t task = 0;
};

std::vector<LogFile> find_logs(const JobRecord& record, const std::vector<std::int64_t>& tasks);

// The time at the beginning of a line, or nothing: "" .
std::string_view stamp_of(std::string_view line);

// Reads on where it stopped; new files of the job are found on the way.
class LogReader {
 public:
  LogReader(JobRecord record, std::vector<std::int64_t> tasks)
      : record_(std::move(record)), tasks_(std::move(tasks)) {}

  // What has come since the last call, sorted by time. A line that is not whole yet is left for the
  // next call, unless `is_last`.
  std::vector<LogLine> read(bool is_last);

 private:
  struct Place {
    LogFile file;
    std::size_t offset = 0;
    std::string time;
  };

  void read_file_on(Place& place, bool is_last, std::vector<LogLine>& lines) const;

  JobRecord record_;
  std::vector<std::int64_t> tasks_;
  std::vector<Place> places_;
};

}  // namespace kedge::jobs
