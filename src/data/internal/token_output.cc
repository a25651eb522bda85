#include "data/internal/token_output.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace kedge::data {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kState = "tokenize.json";
constexpr std::string_view kUnfinished = ".part";
// The parts: rejected records, then two files of each split.
constexpr std::size_t kRejects = 0;
constexpr std::size_t kFirstSplit = 1;

template <typename Number>
std::string_view bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

Error another_run(const Path& folder) {
  return {ErrorKind::Usage,
          fmt::format("{} holds an unfinished run over other files or with other options",
                      folder.string()),
          "give the same ones again to resume it, or remove the folder"};
}

Json render(const TokenizeReport& report) {
  return {{"bytes", report.bytes},           {"train_tokens", report.train_tokens},
          {"val_tokens", report.val_tokens}, {"documents", report.documents},
          {"empty", report.empty},           {"rejected", report.rejected},
          {"replaced", report.replaced}};
}

void restore(const Json& json, TokenizeReport& report) {
  json.at("bytes").get_to(report.bytes);
  json.at("train_tokens").get_to(report.train_tokens);
  json.at("val_tokens").get_to(report.val_tokens);
  json.at("documents").get_to(report.documents);
  json.at("empty").get_to(report.empty);
  json.at("rejected").get_to(report.rejected);
  json.at("replaced").get_to(report.replaced);
  report.first_byte = report.bytes;
}

}  // namespace

Result<TokenOutput> TokenOutput::open(const Path& folder, const std::string& job, bool has_val,
                                      std::size_t id_bytes, std::uint64_t unsaved_bytes) {
  TokenOutput output;
  output.most_unsaved_bytes_ = unsaved_bytes;
  output.folder_ = folder;
  output.job_ = job;
  output.id_bytes_ = id_bytes;
  output.parts_.emplace_back("rejected.jsonl");
  for (const char* split : {"train", "val"}) {
    if (has_val || split == std::string_view("train")) {
      output.parts_.emplace_back(fmt::format("{}.bin", split));
      output.parts_.emplace_back(fmt::format("{}.lengths", split));
    }
  }
  KEDGE_TRY(make_dirs(folder));
  if (std::filesystem::exists(folder / "train.bin")) {
    return fail(ErrorKind::Usage, fmt::format("{} holds tokens already", folder.string()),
                "name another folder with --out, or remove this one");
  }
  const Path state = folder / kState;
  if (std::filesystem::exists(state)) {
    KEDGE_TRY(output.read_state(KEDGE_TRY(read_file(state))));
  }
  for (Part& part : output.parts_) {
    const Path path = folder / (part.name + std::string(kUnfinished));
    part.file = OwnedFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (part.file.get() < 0) {
      return std::unexpected(io_error("open", path, errno));
    }
    const off_t size = ::lseek(part.file.get(), 0, SEEK_END);
    if (size < static_cast<off_t>(part.bytes)) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("{} has {} bytes, but {} of it were written", path.string(), size,
                              part.bytes),
                  "remove the folder and tokenize again");
    }
    if (::ftruncate(part.file.get(), static_cast<off_t>(part.bytes)) != 0 ||
        ::lseek(part.file.get(), 0, SEEK_END) < 0) {
      return std::unexpected(io_error("truncate", path, errno));
    }
  }
  return output;
}

Result<void> TokenOutput::read_state(const std::string& text) {
  const Json state = Json::parse(text, nullptr, false);
  if (!state.is_object() || state.value("job", Json()) != job_) {
    return std::unexpected(another_run(folder_));
  }
  try {
    last_ = TextUnit{.number = state.at("unit").at(0),
                     .file = state.at("unit").at(1),
                     .begin = state.at("unit").at(2),
                     .end = state.at("unit").at(3)};
    state.at("line").get_to(line_);
    restore(state.at("report"), report_);
    for (Part& part : parts_) {
      state.at("parts").at(part.name).get_to(part.bytes);
    }
  } catch (const Json::exception& error) {
    return fail(ErrorKind::Corrupt,
                fmt::format("{}: {}", (folder_ / kState).string(), error.what()),
                "remove the folder and tokenize again");
  }
  return {};
}

Result<void> TokenOutput::append(Part& part, std::string_view bytes) {
  KEDGE_TRY(write_all(part.file.get(), bytes, folder_ / (part.name + std::string(kUnfinished))));
  part.bytes += bytes.size();
  return {};
}

Result<void> TokenOutput::add(const UnitTokens& tokens, const std::vector<TextFile>& files) {
  const TextFile& file = files[tokens.unit.file];
  for (const auto& reject : tokens.rejects) {
    const Json row = {{"file", file.path.string()},
                      {"line", line_ + reject.line + 1},
                      {"offset", reject.offset},
                      {"reason", reject.reason}};
    KEDGE_TRY(
        append(parts_[kRejects], row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"));
  }
  for (std::size_t i = 0; kFirstSplit + 2 * i < parts_.size(); ++i) {
    const UnitTokens::Split& split = tokens.splits[i];
    if (id_bytes_ == sizeof(TokenId)) {
      KEDGE_TRY(append(parts_[kFirstSplit + 2 * i], bytes_of(split.ids)));
    } else {
      const std::vector<std::uint16_t> narrow(split.ids.begin(), split.ids.end());
      KEDGE_TRY(append(parts_[kFirstSplit + 2 * i], bytes_of(narrow)));
    }
    KEDGE_TRY(append(parts_[kFirstSplit + 2 * i + 1], bytes_of(split.lengths)));
    (i == 0 ? report_.train_tokens : report_.val_tokens) += split.ids.size();
    report_.documents += split.lengths.size();
  }
  report_.bytes += tokens.unit.end - tokens.unit.begin;
  report_.empty += tokens.empty;
  report_.rejected += tokens.rejects.size();
  report_.replaced += tokens.facts.replaced;
  last_ = tokens.unit;
  line_ = tokens.unit.ends_file(file) ? 0 : line_ + tokens.facts.lines;
  unsaved_bytes_ += tokens.unit.end - tokens.unit.begin;
  return unsaved_bytes_ < most_unsaved_bytes_ ? Result<void>() : save_state();
}

Result<void> TokenOutput::save_state() {
  Json sizes = Json::object();
  for (const Part& part : parts_) {
    if (::fsync(part.file.get()) != 0) {
      return std::unexpected(io_error("sync", folder_ / part.name, errno));
    }
    sizes[part.name] = part.bytes;
  }
  const Json state = {{"job", job_},
                      {"unit", {last_->number, last_->file, last_->begin, last_->end}},
                      {"line", line_},
                      {"report", render(report_)},
                      {"parts", sizes}};
  unsaved_bytes_ = 0;
  return write_file_atomic(folder_ / kState, state.dump() + "\n");
}

// The documents' bounds in the form of Megatron's indexed data sets (docs/formats/tokens.md).
Result<void> TokenOutput::write_index(const std::string& split) {
  const MappedFile lengths =
      KEDGE_TRY(MappedFile::open(folder_ / (split + ".lengths" + std::string(kUnfinished))));
  const std::string_view all = {reinterpret_cast<const char*>(lengths.bytes().data()),
                                lengths.bytes().size()};
  const std::uint64_t count = all.size() / sizeof(std::int32_t);
  const Path path = folder_ / (split + ".idx");
  return write_synced(path, path, [&](int fd) -> Result<void> {
    std::string head("MMIDIDX\0\0", 9);
    const auto put = [&head](auto number) {
      head.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    put(std::uint64_t{1});
    put(std::uint8_t{id_bytes_ == 2 ? std::uint8_t{8} : std::uint8_t{4}});  // uint16, int32
    put(count);
    put(count + 1);
    KEDGE_TRY(write_all(fd, head, path));
    KEDGE_TRY(write_all(fd, all, path));
    constexpr std::uint64_t kBatch = std::uint64_t{1} << 16U;
    std::vector<std::int64_t> numbers;
    std::int64_t at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {  // where each begins, in bytes
      std::int32_t length = 0;
      std::memcpy(&length, all.data() + i * sizeof length, sizeof length);
      numbers.push_back(at);
      at += std::int64_t{length} * static_cast<std::int64_t>(id_bytes_);
      if (numbers.size() == kBatch || i + 1 == count) {
        KEDGE_TRY(write_all(fd, bytes_of(std::exchange(numbers, {})), path));
      }
    }
    for (std::uint64_t i = 0; i <= count; ++i) {  // each document is one sequence
      numbers.push_back(static_cast<std::int64_t>(i));
      if (numbers.size() == kBatch || i == count) {
        KEDGE_TRY(write_all(fd, bytes_of(std::exchange(numbers, {})), path));
      }
    }
    return {};
  });
}

// train.bin takes its name last: a folder that has it is whole.
Result<void> TokenOutput::finish(std::int64_t vocab, const std::string& tokenizer_digest) {
  if (last_) {
    KEDGE_TRY(save_state());
  }
  Json meta = {{"dtype", id_bytes_ == 2 ? "uint16" : "uint32"},
               {"vocab", vocab},
               {"tokenizer", "sha256:" + tokenizer_digest}};
  meta.update(render(report_));
  KEDGE_TRY(write_file_atomic(folder_ / "meta.json", meta.dump(1) + "\n"));
  for (std::size_t i = parts_.size(); i-- > 0;) {
    const Path part = folder_ / (parts_[i].name + std::string(kUnfinished));
    const bool is_lengths = parts_[i].name.ends_with(".lengths");
    if (is_lengths) {
      KEDGE_TRY(write_index(parts_[i].name.substr(0, parts_[i].name.find('.'))));
    }
    std::error_code error;
    const bool is_kept = !is_lengths && parts_[i].bytes > 0 && parts_[i].name != "train.bin";
    if (is_kept) {
      std::filesystem::rename(part, folder_ / parts_[i].name, error);
    } else if (parts_[i].name == "rejected.jsonl" || parts_[i].name == "val.bin") {
      std::filesystem::remove(part, error);
    }
    if (error) {
      return std::unexpected(io_error("rename", part, error.value()));
    }
  }
  const Path train = folder_ / "train.bin";
  std::error_code error;
  std::filesystem::rename(train.string() + std::string(kUnfinished), train, error);
  if (error) {
    return std::unexpected(io_error("rename", train, error.value()));
  }
  KEDGE_TRY(sync_dir(folder_));
  for (const char* name : {"train.lengths.part", "val.lengths.part", kState.data()}) {
    std::filesystem::remove(folder_ / name, error);  // what is left of them does no harm
  }
  return {};
}

}  // namespace kedge::data
