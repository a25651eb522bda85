// What a client of another dialect sent of a run, word for word, kept beside the curves and records
// made of it, so that the same client reads back exactly what it wrote: rows of history, console
// lines by their numbers, documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/series.h"
#include "store/store.h"

namespace kedge::store {

// Events: how busy the machine was.
enum class RowStream : std::uint8_t { History, Events };

struct HistoryRow {
  std::string text = {};  // as it came
  std::int64_t step = 0;
  std::int64_t time_us = 0;
  std::vector<std::pair<std::string, double>> values = {};  // for the curves
  std::vector<Record> records = {};
};

struct RowBatch {
  RowStream stream = RowStream::History;
  std::uint64_t from = 0;  // the number of the first row, from 0
  std::vector<HistoryRow> rows = {};
};

struct RowsAnswer {
  std::uint64_t total = 0;     // rows afterwards: one more than the last one's number
  std::uint64_t accepted = 0;  // that were not there yet
};

struct RowQuery {
  RowStream stream = RowStream::History;
  std::uint64_t from = 0;
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  std::int64_t min_step = std::numeric_limits<std::int64_t>::min();  // both included
  std::int64_t max_step = std::numeric_limits<std::int64_t>::max();
};

struct StoredRow {
  std::uint64_t n = 0;
  std::int64_t step = 0;
  std::string text;
};

class Database;
class TranscriptChange;

// One for a store, for any thread.
class Transcript {
 public:
  explicit Transcript(Store& store) : store_(store) {}

  // Rows are named by their numbers: equal ones that come again are skipped. Where one differs from
  // what is there, it and all behind it are replaced, and the run goes on in a new attempt, so that
  // the old points stay visible as any replaced ones do. Numbers may be left out.
  Result<RowsAnswer> put_rows(const RunKey& key, const RowBatch& batch, std::int64_t now_us);
  // All that `work` does is one change: an error of it, or a crash, leaves nothing of it behind. It
  // may run again when a commit is tried again, on the writer's thread: what can be done before
  // does not belong into it. NotFound when there is no such run.
  Result<void> change(const RunKey& key, std::int64_t now_us,
                      const std::function<Result<void>(TranscriptChange&)>& work);
  Result<std::vector<StoredRow>> read_rows(const RunKey& key, const RowQuery& query) const;
  Result<std::uint64_t> count_rows(const RunKey& key, RowStream stream) const;

  // Goes back to behind this step (-1: to the beginning), in a new attempt. Returns how many rows
  // of history are left.
  Result<std::uint64_t> rewind(const RunKey& key, std::int64_t step, std::int64_t now_us);
  // The console and the rows of Events are no more.
  Result<void> clear(const RunKey& key);

  // Lines from number `from` on, also such that are there already: a progress bar is one line that
  // is written again and again. Lines that were left out are empty.
  Result<void> put_console(const RunKey& key, std::uint64_t from,
                           const std::vector<ConsoleLine>& lines, std::int64_t now_us);

  // A text of the dialect's own under a name of its own ("wandb.config").
  Result<void> put_document(const RunKey& key, const std::string& name, const std::string& text);
  Result<std::optional<std::string>> find_document(const RunKey& key,
                                                   const std::string& name) const;
  Result<std::map<std::string, std::string>> find_documents(const RunKey& key) const;

 private:
  Store& store_;
};

struct LiveRun;

// What can be done to one run in one change; each means what Transcript's call of its name does.
class TranscriptChange {
 public:
  TranscriptChange(Store::Impl& store, Database& database, LiveRun& run, std::int64_t now_us)
      : store_(store), database_(database), run_(run), now_us_(now_us) {}

  Result<RowsAnswer> put_rows(const RowBatch& batch);
  Result<void> put_console(std::uint64_t from, const std::vector<ConsoleLine>& lines);
  Result<void> put_document(const std::string& name, const std::string& text);
  // Sees the run with what this change has done so far.
  Result<void> edit(const std::function<Result<RunPatch>(const Run&)>& edit);
  void note_life();

 private:
  Store::Impl& store_;
  Database& database_;
  LiveRun& run_;
  std::int64_t now_us_;
};

}  // namespace kedge::store
