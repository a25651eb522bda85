// The image files below a folder and their classes, by folder or by file name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "core/file.h"
#include "core/result.h"

namespace kedge::data {

struct ImageFile {
  std::string name;  // relative to the root
  std::int64_t label = 0;
};

struct ImageFiles {
  Path root;
  std::vector<ImageFile> files;  // sorted by name, so that every machine has the same order
};

struct PartFolders {
  Path train;
  std::optional<Path> test;
};

// How labels are found, and the classes in the order of their labels.
struct LabelNames {
  config::LabelFrom from = config::LabelFrom::Folder;
  // By file name: the class is the longest of `classes` that occurs in it, and files with none are
  // left out; otherwise the class is the name up to the first digit, dot or underscore.
  bool is_given = false;
  std::vector<std::string> classes;
};

// <path>/train and <path>/val (or valid, validation, test) where they exist, else all of <path>.
PartFolders find_part_folders(const Path& path);

// All images below `root`; hidden files and folders are passed over.
Result<ImageFiles> list_image_files(const Path& root);

Result<LabelNames> find_labels(const ImageFiles& train, const config::DataConfig& config);

// Whether files of a test split carry labels at all.
bool has_labels(const ImageFiles& files, const LabelNames& labels);

// Sets every label; a class that is not among the training classes is an error naming the file.
Result<void> label_files(ImageFiles& files, const LabelNames& labels);

}  // namespace kedge::data
