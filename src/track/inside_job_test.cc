// A scheduler for the tests of this room, which knows none: its jobs have TEST_JOB and TEST_STARTS.
#include "core/inside_job.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/result.h"

namespace kedge::track {
namespace {

class InsideTestJob : public InsideJob {
 public:
  std::optional<JobName> find_name(const FindVariable& find) const override {
    const auto job = find("TEST_JOB");
    const std::string starts = find("TEST_STARTS").value_or("0");
    return job ? std::optional(JobName{"test " + *job, std::strtoll(starts.c_str(), nullptr, 10)})
               : std::nullopt;
  }

  std::map<std::string, std::string> describe(const FindVariable& find) const override {
    const auto job = find("TEST_JOB");
    return job ? std::map<std::string, std::string>{{"TEST_JOB", *job}}
               : std::map<std::string, std::string>();
  }

  std::optional<TimeLimit> find_end(const JobEnvironment& /*environment*/) const override {
    return std::nullopt;
  }
};

const InsideJobs::Add kAddInsideTestJob({"test", "the tests' own",
                                         []() -> Result<std::unique_ptr<InsideJob>> {
                                           return std::make_unique<InsideTestJob>();
                                         }});

}  // namespace
}  // namespace kedge::track
