// job.directives among the options that kedge gives to sbatch itself: what a person writes must not
// override in silence what the job depends on.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace kedge::jobs::slurm {

// `own` (each "--name" or "--name=value") with the user's lines behind. A --comment is put before
// ours, which carries the mark. Usage for one that says what kedge says already, or that would make
// another kind of job; the error names the key to use instead.
Result<std::vector<std::string>> merge_directives(std::vector<std::string> own,
                                                  const std::vector<std::string>& given);

// The mark in a job's comment; empty: there is none.
std::string mark_in(const std::string& comment);

}  // namespace kedge::jobs::slurm
