#include "data/internal/text_stream.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/log.h"

namespace kedge::data {
namespace {

namespace fs = std::filesystem;

bool is_test_name(const Path& relative) {
  constexpr std::array<std::string_view, 4> kTestNames = {"val", "valid", "validation", "test"};
  const auto is_one = [&](const std::string& name) {
    return std::ranges::find(kTestNames, name) != kTestNames.end();
  };
  return is_one(relative.stem().string()) ||
         (relative.has_parent_path() && is_one(relative.begin()->string()));
}

// The text of one record, or what is wrong with it.
Result<std::string> record_text(std::string_view line, const std::string& field) {
  const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
  if (!record.is_object()) {
    return fail(ErrorKind::Corrupt, "not a JSON object");
  }
  const auto found = record.find(field);
  if (found == record.end() || !found->is_string()) {
    return fail(ErrorKind::Corrupt, fmt::format("no text in the field '{}'", field));
  }
  return found->get<std::string>();
}

Result<std::string> read_jsonl(const Path& path, const config::DataConfig& config) {
  const MappedFile file = KEDGE_TRY(MappedFile::open(path));
  std::string_view rest(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::string text;
  std::int64_t skipped = 0;
  for (std::int64_t line_number = 1; !rest.empty(); ++line_number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    const auto record = record_text(line, config.text_field);
    if (record) {
      text += text.empty() ? "" : std::string(1, '\0');
      text += *record;
    } else if (config.on_error == config::OnError::Skip) {
      ++skipped;
    } else {
      return fail(ErrorKind::Corrupt,
                  fmt::format("{}:{}: {}", path.string(), line_number, record.error().message),
                  "correct the record, set data.text_field, or set data.on_error: skip");
    }
  }
  if (skipped > 0) {
    warn("{}: {} broken record(s) skipped", path.string(), skipped);
  }
  return text;
}

}  // namespace

Result<TextFiles> find_text_files(const Path& path, const std::vector<std::string>& endings) {
  TextFiles files;
  std::error_code error;
  std::error_code ignored;  // a dangling link is no text
  if (fs::is_regular_file(path, error)) {
    files.train.push_back(path);
    return files;
  }
  if (!fs::is_directory(path, error)) {
    return files;
  }
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    const std::string ending = at->path().extension().string();
    if (std::ranges::find(endings, ending) != endings.end() && at->is_regular_file(ignored)) {
      const bool is_test = is_test_name(at->path().lexically_relative(path));
      (is_test ? files.test : files.train).push_back(at->path());
    }
  }
  if (error) {
    return std::unexpected(io_error("cannot list", path, error.value()));
  }
  std::ranges::sort(files.train);
  std::ranges::sort(files.test);
  return files;
}

Result<TextStream> TextStream::open(const std::vector<Path>& files,
                                    const config::DataConfig& config) {
  TextStream stream;
  for (const Path& path : files) {
    if (path.extension() == ".jsonl") {
      stream.add({}, KEDGE_TRY(read_jsonl(path, config)));
    } else {
      stream.add(KEDGE_TRY(MappedFile::open(path)), {});
    }
  }
  return stream;
}

void TextStream::add(MappedFile mapped, std::string text) {
  const std::size_t bytes = text.empty() ? mapped.bytes().size() : text.size();
  if (bytes == 0) {
    return;
  }
  const std::int64_t start = pieces_.empty() ? 0 : size_ + 1;
  size_ = start + static_cast<std::int64_t>(bytes);
  pieces_.push_back({.start = start, .mapped = std::move(mapped), .text = std::move(text)});
}

void TextStream::copy(std::int64_t start, std::span<std::int32_t> tokens) const {
  auto piece = std::ranges::upper_bound(pieces_, start, {}, &Piece::start) - 1;
  std::size_t done = 0;
  auto at = static_cast<std::size_t>(start - piece->start);
  while (done < tokens.size()) {
    const std::span<const std::uint8_t> bytes = piece->bytes();
    const std::size_t here = std::min(tokens.size() - done, bytes.size() - at);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), here,
                tokens.begin() + static_cast<std::ptrdiff_t>(done));
    done += here;
    if (done < tokens.size()) {
      tokens[done++] = 0;
    }
    ++piece;
    at = 0;
  }
}

void TextStream::add_to(Digest& digest) const {
  for (const Piece& piece : pieces_) {
    digest.add(fmt::format("{} ", piece.bytes().size()));
    digest.add(piece.bytes());
  }
}

}  // namespace kedge::data
