#include "data/internal/record_file.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace kedge::data {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::vector<RawRecord> split_lines(std::string_view text) {
  std::vector<RawRecord> records;
  for (std::uint32_t line = 1; !text.empty(); ++line) {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (one.find_first_not_of(kBlanks) != std::string_view::npos) {
      records.push_back({one, line});
    }
  }
  return records;
}

// Walks through a list without reading its members: only strings and depth matter.
class ListWalker {
 public:
  ListWalker(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  Result<std::vector<RawRecord>> split() {
    std::vector<RawRecord> records;
    skip_blanks();
    take();  // the bracket
    for (bool is_first = true;; is_first = false) {
      skip_blanks();
      if (!is_over() && text_[at_] == ']') {
        take();
        break;
      }
      if (!is_first && (is_over() || take() != ',')) {
        return wrong("there is neither a comma nor the end of the list");
      }
      skip_blanks();
      const std::size_t begin = at_;
      const std::uint32_t line = line_;
      skip_member();
      if (is_over() || begin == at_) {
        return wrong("the list does not end");
      }
      records.push_back({text_.substr(begin, at_ - begin), line});
    }
    skip_blanks();
    if (!is_over()) {
      return wrong("something stands after the list");
    }
    return records;
  }

 private:
  bool is_over() const { return at_ >= text_.size(); }

  char take() {
    line_ += text_[at_] == '\n' ? 1 : 0;
    return text_[at_++];
  }

  void skip_blanks() {
    while (!is_over() && kBlanks.contains(text_[at_])) {
      take();
    }
  }

  void skip_string() {
    while (!is_over()) {
      const char c = take();
      if (c == '\\' && !is_over()) {
        take();
      } else if (c == '"') {
        return;
      }
    }
  }

  // Up to the comma or the bracket after it.
  void skip_member() {
    for (std::int64_t depth = 0; !is_over();) {
      const char c = text_[at_];
      if (depth == 0 && (c == ',' || c == ']')) {
        return;
      }
      take();
      if (c == '"') {
        skip_string();
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        --depth;
      }
    }
  }

  std::unexpected<Error> wrong(std::string_view what) const {
    return fail(ErrorKind::Corrupt, fmt::format("{}:{}: {}", where_, line_, what),
                "the file is cut short or no JSON; write it again");
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

Result<std::vector<RawRecord>> split_records(std::string_view text, std::string_view where) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first != std::string_view::npos && text[first] == '[') {
    return ListWalker(text, where).split();
  }
  return split_lines(text);
}

Result<RecordFile> RecordFile::open(const Path& path) {
  RecordFile file;
  file.path_ = path;
  file.file_ = KEDGE_TRY(MappedFile::open(path));
  file.records_ = KEDGE_TRY(split_records(file.text(), path.string()));
  return file;
}

Result<RecordFile> RecordFile::open_whole(const Path& path) {
  RecordFile file;
  file.path_ = path;
  file.file_ = KEDGE_TRY(MappedFile::open(path));
  file.records_ = {{.text = file.text(), .line = 0}};
  return file;
}

}  // namespace kedge::data
