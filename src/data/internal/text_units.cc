#include "data/internal/text_units.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "data/tokenizer/internal/clean_text.h"

namespace kedge::data {
namespace {

std::string_view text_of(const MappedFile& file) {
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The first line that begins at or after `from`.
std::size_t line_start(std::string_view text, std::size_t from) {
  if (from == 0 || from >= text.size()) {
    return std::min(from, text.size());
  }
  const std::size_t before = text.find('\n', from - 1);
  return before == std::string_view::npos ? text.size() : before + 1;
}

// The field's text in a record, or why there is none.
Result<std::string> read_record(std::string_view line, std::string_view field) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return fail(ErrorKind::Corrupt, "the line is no JSON object");
  }
  const auto value = json.find(field);
  if (value == json.end() || !value->is_string()) {
    return fail(ErrorKind::Corrupt, value == json.end() ? fmt::format("there is no \"{}\"", field)
                                                        : fmt::format("\"{}\" is {}, not text",
                                                                      field, value->type_name()));
  }
  return value->get<std::string>();
}

UnitFacts read_records(std::string_view text, const TextUnit& unit, std::string_view field,
                       const TextTaker& take) {
  UnitFacts facts;
  std::string clean;
  const std::size_t end = line_start(text, unit.end);
  for (std::size_t at = line_start(text, unit.begin); at < end; ++facts.lines) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, line_end - at);
    const std::size_t offset = at;
    at = line_end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      continue;
    }
    if (find_invalid(line) < line.size()) {
      facts.replaced += replace_invalid(line, clean);
      line = clean;
    }
    auto document = read_record(line, field);
    if (document) {
      take.document(*document, offset);
    } else {
      take.rejected(facts.lines, offset, document.error().message);
    }
  }
  return facts;
}

}  // namespace

Result<std::vector<TextFile>> look_at_texts(const std::vector<Path>& paths) {
  std::vector<TextFile> files;
  for (const Path& path : paths) {
    files.push_back({.path = path,
                     .size = KEDGE_TRY(size_of_file(path)),
                     .has_records = path.extension() == ".jsonl"});
  }
  if (files.empty()) {
    return fail(ErrorKind::Usage, "no text to tokenize", "name files or folders of them");
  }
  return files;
}

std::optional<TextUnit> next_unit(const std::vector<TextFile>& files,
                                  const std::optional<TextUnit>& last) {
  TextUnit unit;
  if (last) {
    unit = {.number = last->number + 1, .file = last->file, .begin = last->end};
    if (last->ends_file(files[last->file])) {
      unit.begin = 0;
      ++unit.file;
    }
  }
  if (unit.file == files.size()) {
    return std::nullopt;
  }
  const TextFile& file = files[unit.file];
  unit.end = file.has_records ? std::min(file.size, unit.begin + kUnitBytes) : file.size;
  return unit;
}

Result<UnitFacts> read_unit(const TextFile& file, const TextUnit& unit, std::string_view field,
                            const TextTaker& take) {
  const MappedFile mapped = KEDGE_TRY(MappedFile::open(file.path));
  const std::string_view text = text_of(mapped);
  if (text.size() != file.size) {
    return fail(
        ErrorKind::Io,
        fmt::format("{} had {} bytes and now has {}", file.path.string(), file.size, text.size()),
        "files must stay as they are while they are tokenized");
  }
  if (file.has_records) {
    return read_records(text, unit, field, take);
  }
  take.document(text, 0);
  return UnitFacts{};
}

}  // namespace kedge::data
