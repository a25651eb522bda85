#include "data/tokenize.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/hash.h"
#include "data/internal/text_units.h"
#include "data/internal/token_output.h"

namespace kedge::data {
namespace {

constexpr std::int64_t kMostNarrowIds = 65536;

// Which documents are held out: by where they stand, so that neither threads nor an interruption
// change it.
bool is_held_out(double fraction, std::size_t file, std::uint64_t offset) {
  const std::array<std::uint64_t, 2> place = {file, offset};
  const std::uint64_t hash =
      xxh3_64({reinterpret_cast<const std::uint8_t*>(place.data()), sizeof place});
  return static_cast<double>(hash) < fraction * 0x1p64;
}

// All that decides what is written.
std::string name_job(const Tokenizer& tokenizer, const TokenizeOptions& options,
                     const std::vector<TextFile>& files) {
  Digest digest;
  digest.add(fmt::format("1 {} {} {} {}", tokenizer.digest(), options.field,
                         options.end ? std::to_string(*options.end) : "none", options.val));
  for (const TextFile& file : files) {
    std::error_code error;
    const auto changed = std::filesystem::last_write_time(file.path, error);
    digest.add(fmt::format("\n{} {} {}", file.path.string(), file.size,
                           changed.time_since_epoch().count()));
  }
  return digest.text();
}

// Threads that tokenize units and one that writes what they made, in order.
class Work {
 public:
  Work(const Tokenizer& tokenizer, const TokenizeOptions& options, std::vector<TextFile> files,
       TokenOutput& output)
      : tokenizer_(tokenizer), options_(options), files_(std::move(files)), output_(output) {
    handed_out_ = output.last();
    next_ = handed_out_ ? handed_out_->number + 1 : 0;
  }

  Result<void> run(const std::function<void()>& progress) {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, options_.threads); ++i) {
      threads.emplace_back([this] { tokenize_units(); });
    }
    auto done = write_units(progress);
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    changed_.notify_all();
    return done;
  }

 private:
  using Made = Result<UnitTokens>;

  // Units that are ahead of the writer wait in memory; no more than this many.
  std::uint64_t most_ahead() const { return 2 * std::uint64_t{options_.threads} + 2; }

  std::optional<TextUnit> take_unit() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] {
      return is_stopped_ || !handed_out_ || handed_out_->number + 1 < next_ + most_ahead();
    });
    auto unit = is_stopped_ ? std::nullopt : next_unit(files_, handed_out_);
    if (unit) {
      handed_out_ = unit;
    } else {
      is_all_taken_ = true;
    }
    return unit;
  }

  void tokenize_units() {
    TokenEncoder encoder(tokenizer_);
    while (const auto unit = take_unit()) {
      Made made = tokenize_unit(*unit, encoder);
      {
        const std::lock_guard lock(mutex_);
        made_.emplace(unit->number, std::move(made));
      }
      changed_.notify_all();
    }
    changed_.notify_all();
  }

  Made tokenize_unit(const TextUnit& unit, TokenEncoder& encoder) const {
    UnitTokens tokens{.unit = unit};
    const std::int64_t before = encoder.replaced_count();
    const TextTaker taker = {
        .document =
            [&](std::string_view text, std::uint64_t offset) {
              if (text.empty()) {
                ++tokens.empty;
                return;
              }
              auto& split = tokens.splits[is_held_out(options_.val, unit.file, offset) ? 1 : 0];
              const std::size_t first = split.ids.size();
              encoder.encode(text, split.ids);
              if (options_.end) {
                split.ids.push_back(*options_.end);
              }
              split.lengths.push_back(static_cast<std::int32_t>(split.ids.size() - first));
            },
        .rejected =
            [&](std::uint64_t line, std::uint64_t offset, std::string reason) {
              tokens.rejects.push_back({line, offset, std::move(reason)});
            }};
    tokens.facts = KEDGE_TRY(read_unit(files_[unit.file], unit, options_.field, taker));
    tokens.facts.replaced += static_cast<std::uint64_t>(encoder.replaced_count() - before);
    return tokens;
  }

  Result<void> write_units(const std::function<void()>& progress) {
    for (;; progress()) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] {
        const bool is_last = is_all_taken_ && (!handed_out_ || next_ > handed_out_->number);
        return is_last || made_.contains(next_);
      });
      const auto made = made_.find(next_);
      if (made == made_.end()) {
        return {};
      }
      const Made tokens = std::move(made->second);
      made_.erase(made);
      ++next_;
      lock.unlock();
      changed_.notify_all();
      if (!tokens) {
        return std::unexpected(tokens.error());
      }
      KEDGE_TRY(output_.add(*tokens, files_));
    }
  }

  const Tokenizer& tokenizer_;
  const TokenizeOptions& options_;
  std::vector<TextFile> files_;
  TokenOutput& output_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<TextUnit> handed_out_;  // the last unit that a thread took
  std::map<std::uint64_t, Made> made_;  // by number, until they are written
  std::uint64_t next_ = 0;              // the unit to be written next
  bool is_all_taken_ = false;
  bool is_stopped_ = false;
};

}  // namespace

Result<std::vector<Path>> list_texts(const Path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    if (!std::filesystem::exists(path, error)) {
      return fail(ErrorKind::NotFound, fmt::format("{} does not exist", path.string()));
    }
    return std::vector{path};
  }
  std::vector<Path> files;
  for (auto entry = std::filesystem::recursive_directory_iterator(path, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    const Path extension = entry->path().extension();
    if (entry->is_regular_file() && (extension == ".jsonl" || extension == ".txt" ||
                                     extension == ".md" || extension == ".text")) {
      files.push_back(entry->path());
    }
  }
  if (error) {
    return std::unexpected(io_error("list", path, error.value()));
  }
  if (files.empty()) {
    return fail(ErrorKind::NotFound,
                fmt::format("{} holds no .jsonl, .txt, .md or .text files", path.string()),
                "name files of other kinds one by one");
  }
  std::ranges::sort(files);
  return files;
}

Result<TokenizeReport> tokenize(
    const Tokenizer& tokenizer, const TokenizeOptions& options,
    const std::function<void(const TokenizeReport& done, std::uint64_t total)>& progress) {
  const std::vector<TextFile> files = KEDGE_TRY(look_at_texts(options.inputs));
  std::uint64_t total = 0;
  for (const TextFile& file : files) {
    total += file.size;
  }
  const std::size_t id_bytes = tokenizer.vocab() <= kMostNarrowIds ? 2 : 4;
  TokenOutput output =
      KEDGE_TRY(TokenOutput::open(options.out, name_job(tokenizer, options, files), options.val > 0,
                                  id_bytes, options.unsaved_bytes));
  KEDGE_TRY(Work(tokenizer, options, files, output).run([&] { progress(output.report(), total); }));
  if (output.report().train_tokens == 0) {
    return fail(ErrorKind::Usage, "the files hold no text that could be tokenized",
                fmt::format("what is wrong with their records is in {}",
                            (options.out / "rejected.jsonl.part").string()));
  }
  KEDGE_TRY(output.finish(tokenizer.vocab(), tokenizer.digest()));
  return output.report();
}

}  // namespace kedge::data
