#include "cli/jobs.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

namespace kedge::cli {

jobs::JobBook open_book(const Arguments& arguments) {
  const char* given = std::getenv("KEDGE_JOBS");
  return jobs::JobBook(arguments.value("--book", given == nullptr ? "jobs" : given));
}

Result<std::vector<NamedJob>> find_jobs(const jobs::JobBook& book,
                                        const std::vector<std::string>& words) {
  std::vector<NamedJob> jobs;
  for (const std::string& word : words) {
    const std::size_t dot = word.rfind('.');
    std::int64_t task = 0;
    const char* const end = word.data() + word.size();
    const bool has_task = dot != std::string::npos && dot + 1 < word.size() &&
                          std::from_chars(word.data() + dot + 1, end, task).ptr == end;
    auto whole = book.find(word);
    if (whole || !has_task) {
      jobs.push_back({.record = KEDGE_TRY(std::move(whole)), .tasks = {}});
      continue;
    }
    jobs::JobRecord record = KEDGE_TRY(book.find(word.substr(0, dot)));
    if (task < 0 || task >= record.spec.task_count()) {
      return fail(ErrorKind::NotFound, fmt::format("job {} has tasks 0 to {}, not {}", record.key,
                                                   record.spec.task_count() - 1, task));
    }
    const auto known =
        std::ranges::find_if(jobs, [&](const NamedJob& j) { return j.record.key == record.key; });
    if (known != jobs.end()) {
      known->tasks.push_back(task);
    } else {
      jobs.push_back({.record = std::move(record), .tasks = {task}});
    }
  }
  return jobs;
}

}  // namespace kedge::cli
