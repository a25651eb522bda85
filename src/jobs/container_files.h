// Definition files of an image that holds what a run needs: for Docker and Podman, and for
// Apptainer. The files beside them (software/, requirements.txt, environment.yml) are the caller's.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace kedge::jobs {

struct ContainerPlan {
  std::string base;               // an image by its name; for Apptainer also a file or a folder
  bool has_packages = true;       // what is opened at run time: libcurl for the tracking server
  bool has_requirements = false;  // requirements.txt, of a Python venv
  bool has_environment = false;   // environment.yml, of conda
  std::string about;              // for people: what it was made for
};

// "Debian GNU/Linux 12 (bookworm)" is "debian:12-slim": programs run where the C library is at
// least as new as where they were built. Usage for systems that have no such image.
Result<std::string> base_for_system(std::string_view pretty_name);

std::string render_dockerfile(const ContainerPlan& plan);
std::string render_apptainer(const ContainerPlan& plan);

// What `apptainer build` takes for an image: "docker-archive:x.tar" for a file that `docker save`
// wrote, a definition file, folder or .sif as it is, "docker://name" for a name in a registry.
std::string source_for_apptainer(std::string_view image);

}  // namespace kedge::jobs
