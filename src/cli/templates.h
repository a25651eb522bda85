// The project folders that `kedge init` writes. They are the folders of examples/, embedded at
// build time, so that an installed kedge needs no source tree.
#pragma once

#include <span>
#include <string_view>

namespace kedge::cli {

struct TemplateFile {
  std::string_view name;  // "config.yaml"
  std::string_view content;
};

struct Template {
  std::string_view name;     // the folder's
  std::string_view summary;  // the heading of its README.md
  std::span<const TemplateFile> files;
};

std::span<const Template> templates();

}  // namespace kedge::cli
