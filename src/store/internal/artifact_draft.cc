#include "store/internal/artifact_draft.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "core/hash.h"
#include "core/inside.h"

namespace kedge::store {
namespace {

bool is_digest(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](unsigned char c) {
           return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::optional<std::int64_t> parse_version(std::string_view word) {
  if (word.starts_with('v')) {
    word.remove_prefix(1);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() && number >= 0
             ? std::optional(number)
             : std::nullopt;
}

Result<void> check_alias(const std::string& alias) {
  if (alias.empty() || alias.size() > 256 || alias == "latest" || parse_version(alias) ||
      alias.find_first_of("/:") != std::string::npos) {
    return fail(ErrorKind::Usage, fmt::format("'{}' cannot be an alias", alias),
                "an alias is no version number, is not 'latest', and holds no '/' or ':'");
  }
  return {};
}

Result<void> check_draft(const ArtifactDraft& draft) {
  if (draft.name.empty() || draft.name.size() > 256 ||
      draft.name.find_first_of("/:") != std::string::npos) {
    return fail(ErrorKind::Usage, fmt::format("'{}' cannot name an artifact", draft.name),
                "use 1 to 256 characters without '/' and ':'");
  }
  if (draft.project.empty() || draft.type.empty()) {
    return fail(ErrorKind::Usage, "an artifact needs a project and a type");
  }
  if (draft.files.size() > kMaxArtifactFiles) {
    return fail(ErrorKind::Usage, fmt::format("{} files are too many for one artifact (limit {})",
                                              draft.files.size(), kMaxArtifactFiles));
  }
  for (const std::string& alias : draft.aliases) {
    if (alias != "latest") {
      KEDGE_TRY(check_alias(alias));
    }
  }
  std::set<std::string_view> paths;
  for (const ArtifactFile& file : draft.files) {
    if (!is_inside(file.path)) {
      return fail(ErrorKind::Usage, fmt::format("'{}' is no path inside an artifact", file.path),
                  "paths are relative, without '.', '..' and empty parts");
    }
    if (!paths.insert(file.path).second) {
      return fail(ErrorKind::Usage, fmt::format("the file '{}' is there twice", file.path));
    }
    if (file.reference.empty() && !is_digest(file.digest)) {
      return fail(ErrorKind::Usage,
                  fmt::format("the digest of '{}' is not a SHA-256 of 64 hex digits", file.path));
    }
  }
  return {};
}

std::string digest_of(const std::vector<ArtifactFile>& files) {
  std::vector<const ArtifactFile*> sorted;
  for (const ArtifactFile& file : files) {
    sorted.push_back(&file);
  }
  std::ranges::sort(sorted, {}, [](const ArtifactFile* file) { return file->path; });
  Digest digest;
  for (const ArtifactFile* file : sorted) {
    digest.add(
        fmt::format("{}\n{}\n{}\n{}\n", file->path, file->digest, file->size, file->reference));
  }
  return digest.text();
}

}  // namespace kedge::store
