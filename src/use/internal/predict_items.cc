#include "use/internal/predict_items.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "data/decode.h"

namespace kedge::use {
namespace {

Result<PredictItem> parse_record(const std::string& line, const Path& file, std::int64_t number,
                                 ItemKind kind) {
  const std::string where = fmt::format("{}:{}", file.string(), number);
  const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
  if (!record.is_object()) {
    return fail(ErrorKind::Corrupt, where + ": not a JSON object");
  }
  const char* key = kind == ItemKind::Text ? "text" : "image";
  if (!record.contains(key) || !record[key].is_string()) {
    return fail(ErrorKind::Usage, fmt::format("{}: no text under \"{}\"", where, key));
  }
  PredictItem item;
  const auto value = record[key].get<std::string>();
  item.id = std::to_string(number);
  if (record.contains("id")) {
    item.id = record["id"].is_string() ? record["id"].get<std::string>() : record["id"].dump();
  }
  if (kind == ItemKind::Text) {
    item.text = value;
  } else {
    item.image = Path(value).is_absolute() ? Path(value) : file.parent_path() / value;
  }
  return item;
}

Result<std::vector<PredictItem>> read_records(const Path& file, ItemKind kind) {
  std::vector<PredictItem> items;
  std::istringstream lines(KEDGE_TRY(read_file(file)));
  std::string line;
  for (std::int64_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      items.push_back(KEDGE_TRY(parse_record(line, file, number, kind)));
    }
  }
  return items;
}

Result<std::vector<PredictItem>> find_images(const Path& folder) {
  std::vector<PredictItem> items;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_regular_file() && data::is_image_name(at->path())) {
      items.push_back({at->path().lexically_relative(folder).string(), at->path(), {}});
    }
  }
  if (error) {
    return std::unexpected(io_error("cannot read folder", folder, error.value()));
  }
  std::ranges::sort(items, {}, &PredictItem::id);
  return items;
}

}  // namespace

Result<std::vector<PredictItem>> list_items(const Path& input, ItemKind kind) {
  std::vector<PredictItem> items;
  if (input.extension() == ".jsonl") {
    items = KEDGE_TRY(read_records(input, kind));
  } else if (kind == ItemKind::Text) {
    items.push_back({input.filename().string(), {}, KEDGE_TRY(read_file(input))});
  } else if (std::filesystem::is_directory(input)) {
    items = KEDGE_TRY(find_images(input));
  } else {
    KEDGE_TRY(size_of_file(input));
    items.push_back({input.filename().string(), input, {}});
  }
  if (items.empty()) {
    return fail(ErrorKind::NotFound, fmt::format("nothing to predict in {}", input.string()),
                "give an image, a folder with .jpg/.png files, or a .jsonl file");
  }
  return items;
}

}  // namespace kedge::use
