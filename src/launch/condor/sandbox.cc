#include "launch/condor/sandbox.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace kedge::launch::condor {
namespace {

namespace fs = std::filesystem;

bool is_address(std::string_view input) {
  return input.find("://") != std::string_view::npos;
}

std::string last_part(std::string_view address) {
  while (address.ends_with('/')) {
    address.remove_suffix(1);
  }
  return std::string(address.substr(address.rfind('/') + 1));
}

// "/a/b/c" below "/a" is "b/c", "/a" itself is "."; empty: elsewhere.
std::string below(std::string_view path, const std::string& folder) {
  if (path == folder) {
    return ".";
  }
  return path.starts_with(folder + "/") ? std::string(path.substr(folder.size() + 1)) : "";
}

std::string path_inside(std::string_view path, const JobSpec& spec, const SubmissionPlace& place) {
  if (path == place.kedge.string()) {
    return "kedge";
  }
  if (std::string name = below(path, place.folder.string()); !name.empty()) {
    return fmt::format("{}/{}", kJobFiles, name);
  }
  if (std::string name = below(path, spec.folder.string()); !name.empty()) {
    return name;
  }
  return std::string(path);
}

}  // namespace

Result<Inputs> sort_inputs(const JobSpec& spec) {
  Inputs inputs;
  for (const std::string& input : spec.wants.inputs) {
    if (is_address(input)) {
      inputs.sent.push_back({.source = input, .place = last_part(input)});
      continue;
    }
    const Path path = (spec.folder / input).lexically_normal();
    const std::string inside = below(path.string(), spec.folder.string());
    // From outside of the folder only the name is kept.
    const std::string name = inside.empty() ? last_part(path.string()) : inside;
    std::error_code error;
    const bool is_folder = fs::is_directory(path, error);
    const std::uintmax_t size = is_folder ? 0 : fs::file_size(path, error);
    if (error) {
      return fail(ErrorKind::Usage,
                  fmt::format("job.inputs: '{}' cannot be read: {}", input, error.message()));
    }
    if (!is_folder && size >= kSentAlone_bytes) {
      inputs.sent.push_back({.source = path.string(), .place = name});
    } else {
      inputs.packed.push_back(
          {.folder = inside.empty() ? path.parent_path() : spec.folder, .name = name});
    }
  }
  return inputs;
}

std::string word_inside(std::string_view word, const JobSpec& spec, const SubmissionPlace& place) {
  const std::size_t equals = word.find('=');
  if (word.starts_with('/') || equals == std::string_view::npos) {
    return path_inside(word, spec, place);
  }
  return fmt::format("{}={}", word.substr(0, equals),
                     path_inside(word.substr(equals + 1), spec, place));
}

std::vector<std::string> outputs_of(const JobSpec& spec) {
  std::vector<std::string> outputs;
  for (const std::string& output : spec.wants.outputs) {
    std::string name = Path(path_inside(output, spec, {})).lexically_normal().string();
    while (name.ends_with('/')) {
      name.pop_back();
    }
    outputs.push_back(std::move(name));
  }
  return outputs;
}

}  // namespace kedge::launch::condor
