#include "jobs/job_logs.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <glob.h>

#include "jobs/job_ends.h"
#include "jobs/launcher.h"

namespace kedge::jobs {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// What stands for any node or job must not take the place of letters that mean themselves.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += std::string_view("*?[]\\").find(c) == std::string_view::npos ? "" : "\\";
    out += c;
  }
  return out;
}

std::vector<Path> expand(const std::string& pattern) {
  glob_t found{};
  std::vector<Path> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return paths;
}

}  // namespace

std::vector<LogFile> find_logs(const JobRecord& record, const std::vector<std::int64_t>& tasks) {
  std::vector<LogFile> files;
  const auto launcher = make_launcher(record.launcher);
  for (const Submission& submission : record.submissions) {
    const std::string pattern = escaped(submission.output);
    std::vector<std::string> known = {record.key};
    if (launcher) {
      std::ranges::move((*launcher)->find_ids(record, submission), std::back_inserter(known));
    }
    for (std::int64_t task = 0; task < record.spec.task_count(); ++task) {
      const bool is_wanted = tasks.empty() || std::ranges::find(tasks, task) != tasks.end();
      if (!is_wanted) {
        continue;
      }
      const std::string name =
          replaced(replaced(pattern, "{task}", std::to_string(task)), "{node}", "*");
      std::vector<std::string> ids = read_job_ids(record.folder, task, submission.number);
      ids.insert(ids.end(), known.begin(), known.end());
      for (const std::string& id : ids) {
        for (Path& path : expand(replaced(name, "{job}", id))) {
          if (std::ranges::find(files, path, &LogFile::path) == files.end()) {
            files.push_back({std::move(path), task});
          }
        }
      }
    }
  }
  return files;
}

std::string_view stamp_of(std::string_view line) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd.dddZ ";
  if (line.size() < kShape.size()) {
    return {};
  }
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool fits = kShape[i] == 'd' ? std::isdigit(static_cast<unsigned char>(line[i])) != 0
                                       : line[i] == kShape[i];
    if (!fits) {
      return {};
    }
  }
  return line.substr(0, kShape.size() - 1);
}

void LogReader::read_file_on(Place& place, bool is_last, std::vector<LogLine>& lines) const {
  std::ifstream stream(place.file.path, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(place.offset));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos && !is_last) {
      break;
    }
    const std::string line = text.substr(begin, end == std::string::npos ? end : end - begin);
    begin = end == std::string::npos ? text.size() : end + 1;
    if (const std::string_view stamp = stamp_of(line); !stamp.empty()) {
      place.time = stamp;
    }
    lines.push_back({place.time, line, place.file.task});
  }
  place.offset += begin;
}

std::vector<LogLine> LogReader::read(bool is_last) {
  for (LogFile& file : find_logs(record_, tasks_)) {
    const bool is_known = std::ranges::any_of(
        places_, [&](const Place& place) { return place.file.path == file.path; });
    if (!is_known) {
      places_.push_back({.file = std::move(file), .time = {}});
    }
  }
  std::vector<LogLine> lines;
  for (Place& place : places_) {
    read_file_on(place, is_last, lines);
  }
  std::ranges::stable_sort(lines, {}, &LogLine::time);
  return lines;
}

}  // namespace kedge::jobs
