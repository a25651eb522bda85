#include "data/internal/record_documents.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "data/internal/in_parallel.h"

namespace kedge::data {
namespace {

constexpr std::size_t kRecordsAtOnce = 64;

// Some records of one file that a thread reads together.
struct Stretch {
  std::uint32_t file = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::vector<Stretch> cut_into_stretches(const std::vector<RecordFile>& files) {
  std::vector<Stretch> stretches;
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const std::size_t count = files[file].records().size();
    for (std::size_t begin = 0; begin < count; begin += kRecordsAtOnce) {
      stretches.push_back(
          {.file = file, .begin = begin, .end = std::min(count, begin + kRecordsAtOnce)});
    }
  }
  return stretches;
}

std::string place_of(const RecordFile& file, const RawRecord& record) {
  const std::string path = file.path().string();
  return record.line == 0 ? path : fmt::format("{}:{}", path, record.line);
}

std::string grouped(std::int64_t count) {
  return render_grouped(static_cast<std::uint64_t>(count));
}

class StretchReader {
 public:
  StretchReader(const std::vector<RecordFile>& files, const config::DataConfig& config,
                std::unique_ptr<RecordReader> reader)
      : files_(files), config_(config), reader_(std::move(reader)) {}

  Result<RecordDocuments> read(const Stretch& stretch) {
    RecordDocuments made;
    const RecordFile& file = files_[stretch.file];
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
      const RawRecord& record = file.records()[i];
      const auto read =
          reader_->read(record, {.file = stretch.file, .line = record.line}, made.documents);
      KEDGE_TRY(count(read, place_of(file, record), made.counts));
    }
    return made;
  }

 private:
  Result<void> count(const Result<ReadRecord>& read, const std::string& place,
                     RecordCounts& counts) const {
    if (!read) {
      return count_broken(read.error(), place, counts);
    }
    switch (read->end) {
      case RecordEnd::Cut:
        ++counts.cut;
        [[fallthrough]];
      case RecordEnd::Used:
        ++counts.used;
        return {};
      case RecordEnd::Unlearnt:
        ++counts.unlearnt;
        return {};
      case RecordEnd::TooLong:
        ++counts.too_long;
        break;
    }
    if (config_.too_long == config::TooLong::Fail) {
      return fail(ErrorKind::Usage,
                  fmt::format("{}: the record has {} tokens, and data.context={} takes {}", place,
                              read->tokens, config_.context, read->most),
                  "raise data.context, or set data.too_long to skip or cut");
    }
    return {};
  }

  Result<void> count_broken(const Error& error, const std::string& place,
                            RecordCounts& counts) const {
    if (config_.on_error == config::OnError::Fail) {
      return fail(error.kind, fmt::format("{}: {}", place, error.message),
                  error.hint.empty()
                      ? "correct the record, or leave such records out with data.on_error=skip"
                      : error.hint);
    }
    if (counts.broken++ == 0) {
      counts.first_broken = fmt::format("{}: {}", place, error.message);
    }
    return {};
  }

  const std::vector<RecordFile>& files_;
  const config::DataConfig& config_;
  std::unique_ptr<RecordReader> reader_;
};

}  // namespace

void RecordCounts::add(const RecordCounts& others) {
  if (broken == 0) {
    first_broken = others.first_broken;
  }
  used += others.used;
  cut += others.cut;
  too_long += others.too_long;
  unlearnt += others.unlearnt;
  broken += others.broken;
}

std::string RecordCounts::describe() const {
  std::vector<std::string> left_out;
  if (too_long > 0) {
    left_out.push_back(grouped(too_long) + " too long");
  }
  if (unlearnt > 0) {
    left_out.push_back(grouped(unlearnt) + " with nothing to learn");
  }
  if (broken > 0) {
    left_out.push_back(fmt::format("{} broken ({})", grouped(broken), first_broken));
  }
  return fmt::format("{} records{}{}{}", grouped(used),
                     cut > 0 ? fmt::format(", {} of them cut", grouped(cut)) : "",
                     left_out.empty() ? "" : "; left out: ", fmt::join(left_out, ", "));
}

std::size_t most_tokens(const config::DataConfig& config) {
  return static_cast<std::size_t>(config.context) + 1;
}

ReadRecord fit_document(const config::DataConfig& config, std::vector<TokenId>& ids,
                        std::vector<std::uint8_t>& marks) {
  ReadRecord read{.tokens = ids.size(), .most = most_tokens(config)};
  if (ids.size() > most_tokens(config)) {
    if (config.too_long != config::TooLong::Cut) {
      read.end = RecordEnd::TooLong;
      return read;
    }
    ids.resize(most_tokens(config));
    marks.resize(ids.size());
    read.end = RecordEnd::Cut;
  }
  if (ids.size() < 2 || std::ranges::count(marks.begin() + 1, marks.end(), 1) == 0) {
    read.end = RecordEnd::Unlearnt;
  }
  return read;
}

Result<RecordDocuments> read_records(const std::vector<RecordFile>& files,
                                     const config::DataConfig& config,
                                     const std::function<std::unique_ptr<RecordReader>()>& make) {
  const std::vector<Stretch> stretches = cut_into_stretches(files);
  std::vector<std::optional<Result<RecordDocuments>>> made(stretches.size());
  in_parallel(stretches.size(), [&] {
    auto reader = std::make_shared<StretchReader>(files, config, make());
    return [&, reader](std::size_t i) { made[i] = reader->read(stretches[i]); };
  });
  RecordDocuments all;
  for (auto& one : made) {
    const RecordDocuments some = KEDGE_TRY(*std::exchange(one, std::nullopt));
    all.documents.append(some.documents);
    all.counts.add(some.counts);
  }
  if (all.documents.size() == 0) {
    return fail(ErrorKind::Usage,
                fmt::format("no record of {} can be trained on: {}",
                            files.empty() ? "the data" : files.front().path().string(),
                            all.counts.describe()),
                "check data.path, data.context and what the records hold");
  }
  return all;
}

Result<std::vector<RecordFile>> open_record_files(const std::vector<Path>& paths) {
  std::vector<RecordFile> files;
  for (const Path& path : paths) {
    files.push_back(KEDGE_TRY(path.extension() == ".txt" ? RecordFile::open_whole(path)
                                                         : RecordFile::open(path)));
  }
  return files;
}

std::vector<std::string> names_of(const std::vector<RecordFile>& files) {
  std::vector<std::string> names;
  std::ranges::transform(files, std::back_inserter(names),
                         [](const RecordFile& file) { return file.path().filename().string(); });
  return names;
}

}  // namespace kedge::data
