// A job of the book as HTCondor gets it: submit file and slot script.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "jobs/condor/submit_file.h"
#include "jobs/job_spec.h"
#include "jobs/launcher.h"

namespace kedge::jobs::condor {

inline constexpr const char* kSlotScript = "slot.sh";

// Names in the job's folder; a retry leaves those of the try before as they are.
std::string submit_file_name(std::int64_t submission);
std::string user_log_name(std::int64_t submission);

// Where what the job prints goes: output_pattern(), with a file for each of several machines.
std::string log_pattern(const JobSpec& spec, const SubmissionPlace& place);

// Errors: Usage, for what HTCondor has no words for or kedge no sense for.
Result<SubmitFile> make_submit_file(const JobSpec& spec, const SubmissionPlace& place);

Requests requests_of(const JobSpec& spec);

// A shell in a slot with what the job would have had: condor_submit's words.
Result<std::vector<std::string>> session_words(const JobSpec& spec);

// What the user should know before submitting: parts of the job section without effect here, GPUs
// that nothing known has.
std::vector<std::string> notes_on(const JobSpec& spec);

}  // namespace kedge::jobs::condor
