#include "data/internal/image_files.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/decode.h"

namespace kedge::data {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string class_by_given_names(const std::string& file, const std::vector<std::string>& classes) {
  const std::string name = lower(file);
  std::string best;
  for (const std::string& candidate : classes) {
    if (candidate.size() > best.size() && name.find(lower(candidate)) != std::string::npos) {
      best = candidate;
    }
  }
  return best;
}

// The name of the file's class, empty when it has none.
std::string class_of(const std::string& name, const LabelNames& labels) {
  if (labels.from == config::LabelFrom::Folder) {
    const std::size_t slash = name.find('/');
    return slash == std::string::npos ? "" : name.substr(0, slash);
  }
  const std::string file = Path(name).filename().string();
  return labels.is_given ? class_by_given_names(file, labels.classes)
                         : file.substr(0, file.find_first_of("0123456789._"));
}

}  // namespace

PartFolders find_part_folders(const Path& path) {
  std::error_code error;
  if (!fs::is_directory(path / "train", error)) {
    return {.train = path, .test = std::nullopt};
  }
  PartFolders folders{.train = path / "train", .test = std::nullopt};
  for (const char* name : {"val", "valid", "validation", "test"}) {
    if (fs::is_directory(path / name, error)) {
      folders.test = path / name;
      break;
    }
  }
  return folders;
}

Result<ImageFiles> list_image_files(const Path& root) {
  ImageFiles found{.root = root, .files = {}};
  std::error_code error;
  std::error_code ignored;  // a dangling link is no image
  if (!fs::is_directory(root, error)) {
    return found;
  }
  const auto options = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(root, options, error), end; !error && at != end;
       at.increment(error)) {
    const Path& path = at->path();
    if (path.filename().string().starts_with('.')) {
      at.disable_recursion_pending();
    } else if (is_image_name(path) && at->is_regular_file(ignored)) {
      found.files.push_back({.name = path.lexically_relative(root).string(), .label = 0});
    }
  }
  if (error) {
    return std::unexpected(io_error("cannot list", root, error.value()));
  }
  std::ranges::sort(found.files, {}, &ImageFile::name);
  return found;
}

Result<LabelNames> find_labels(const ImageFiles& train, const config::DataConfig& config) {
  LabelNames labels{.from = config.label_from, .is_given = false, .classes = {}};
  if (config.label_from == config::LabelFrom::Filename && !config.classes.empty()) {
    labels.is_given = true;
    labels.classes = config.classes;
  }
  std::set<std::string> seen;
  for (const ImageFile& file : train.files) {
    const std::string name = class_of(file.name, labels);
    if (!name.empty()) {
      seen.insert(name);
    }
  }
  for (const std::string& name : labels.classes) {
    if (!seen.contains(name)) {
      return fail(ErrorKind::Usage,
                  fmt::format("no file name in {} holds the class '{}'", train.root.string(), name),
                  fmt::format("a file there is {}; check data.classes", train.files.front().name));
    }
  }
  if (labels.classes.empty()) {
    labels.classes.assign(seen.begin(), seen.end());
  }
  if (labels.classes.empty()) {
    return fail(ErrorKind::Usage,
                fmt::format("the images in {} are not in class folders", train.root.string()),
                "put each class into a folder of its own, or set data.label_from: filename");
  }
  return labels;
}

bool has_labels(const ImageFiles& files, const LabelNames& labels) {
  return std::ranges::any_of(
      files.files, [&](const ImageFile& file) { return !class_of(file.name, labels).empty(); });
}

Result<void> label_files(ImageFiles& files, const LabelNames& labels) {
  if (labels.is_given) {
    std::erase_if(files.files,
                  [&](const ImageFile& file) { return class_of(file.name, labels).empty(); });
  }
  for (ImageFile& file : files.files) {
    const std::string name = class_of(file.name, labels);
    const auto found = std::ranges::find(labels.classes, name);
    if (found == labels.classes.end()) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("{} is of class '{}', which the training data does not have",
                              (files.root / file.name).string(), name),
                  fmt::format("known classes: {}", fmt::join(labels.classes, ", ")));
    }
    file.label = found - labels.classes.begin();
  }
  return {};
}

}  // namespace kedge::data
