#include "data/internal/token_notes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"

namespace kedge::data {
namespace {

std::string grouped(std::int64_t count) {
  return render_grouped(static_cast<std::uint64_t>(count));
}

double percent(std::int64_t part, std::int64_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1));
}

}  // namespace

std::string name_making(const ChatFormat& format, const config::DataConfig& config) {
  return fmt::format("{} {} {} {} ", format.tokenizer.digest(),
                     format.chat ? format.chat->digest() : "none",
                     static_cast<int>(config.train_on), static_cast<int>(config.too_long));
}

std::unique_ptr<Dataset> make_windows(RecordDocuments read, const WindowMaking& making) {
  const config::DataConfig& config = making.config;
  const std::int64_t tokens = read.documents.token_count();
  const std::int64_t counted = read.documents.counted_count();
  DatasetInfo info;
  info.vocab = making.format.tokenizer.vocab();
  info.tokenizer = making.format.tokenizer;
  auto windows = std::make_unique<DocumentWindows>(
      std::move(read.documents),
      WindowOptions{.context = config.context, .pack = config.pack, .files = making.files}, info,
      name_making(making.format, config));
  windows->add_note(fmt::format("records  {}: {}", making.kind, read.counts.describe()));
  windows->add_note(
      fmt::format("tokens   {}, {} trained on ({:.1f}%); {} {} of {} tokens, {:.1f}% full",
                  grouped(tokens), grouped(counted), percent(counted, tokens),
                  grouped(windows->size()), config.pack ? "packed windows" : "padded samples",
                  config.context + 1, percent(tokens, windows->size() * (config.context + 1))));
  return windows;
}

}  // namespace kedge::data
