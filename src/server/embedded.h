// The page (web/dist, compressed): files that are part of the program.
#pragma once

#include <span>
#include <string_view>

namespace kedge::server {

struct EmbeddedFile {
  std::string_view path;  // "assets/index-3fa9.js"
  std::string_view gzip;  // compressed
  std::string_view etag;  // of the content
};

// In order of path; empty when web/dist was not there when kedge was built.
std::span<const EmbeddedFile> page_files();

}  // namespace kedge::server
