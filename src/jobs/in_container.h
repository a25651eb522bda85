// A job's command inside job.container, by Apptainer, Docker or Pyxis. It behaves as outside: it
// sees the job's variables, the network, and the folders of the work and of the job under their own
// names.
#pragma once

#include <string>
#include <vector>

#include "jobs/job_spec.h"
#include "jobs/launcher.h"

namespace kedge::jobs {

// `words` start with kedge. In an image that holds a kedge, made by `kedge container make`, that
// one is used, with its own libtorch; else the one that submitted, whose folder is mounted.
std::vector<std::string> in_container(const JobSpec& spec, const SubmissionPlace& place,
                                      std::vector<std::string> words);

// The tool that job.container_tool means; auto is Pyxis where `has_pyxis` and the image is a
// .sqsh file or a registry's name. Pyxis is srun's own: see pyxis_options().
config::ContainerTool container_tool(const JobSpec& spec, bool has_pyxis);

// --container-image=... and the like, for srun.
std::vector<std::string> pyxis_options(const JobSpec& spec, const SubmissionPlace& place);

// `words` as they are said inside the image.
std::vector<std::string> words_in_image(const SubmissionPlace& place,
                                        std::vector<std::string> words);

}  // namespace kedge::jobs
