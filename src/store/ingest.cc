#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "store/internal/live_run.h"
#include "store/internal/store_parts.h"
#include "store/internal/text.h"
#include "store/store.h"
#include "track/frame.h"

namespace kedge::store {
namespace {

using nlohmann::json;

// What came in, checked before the writer sees it.
struct Batch {
  Frames frames;
  std::int64_t now_us = 0;
  std::vector<track::RecordView> records;  // views into frames.bytes
};

// "a2-r0" is attempt 2; other writers belong to the newest.
std::optional<int> attempt_of(std::string_view writer) {
  int number = 0;
  if (!writer.starts_with('a')) {
    return std::nullopt;
  }
  const auto parsed = std::from_chars(writer.data() + 1, writer.data() + writer.size(), number);
  const bool is_whole = parsed.ec == std::errc{} && number > 0 &&
                        parsed.ptr < writer.data() + writer.size() && *parsed.ptr == '-';
  return is_whole ? std::optional(number) : std::nullopt;
}

Result<std::shared_ptr<const Batch>> check_frames(Frames frames, std::int64_t now_us) {
  constexpr std::size_t kMaxWriterBytes = 128;
  KEDGE_TRY(check_key(frames.run));
  if (frames.writer.empty() || frames.writer.size() > kMaxWriterBytes ||
      make_valid_text(frames.writer) != frames.writer) {
    return fail(ErrorKind::Usage, "a log's writer is a name of 1 to 128 bytes");
  }
  auto batch = std::make_shared<Batch>();
  batch->frames = std::move(frames);
  batch->now_us = now_us;
  const auto payloads = KEDGE_TRY(track::split_frames(batch->frames.bytes));
  batch->records.reserve(payloads.size());
  for (const std::string_view payload : payloads) {
    const std::uint64_t seq = batch->frames.from_seq + batch->records.size();
    const auto record = track::parse_record(payload);
    if (!record || record->seq != seq) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("record {} of writer {} is not what docs/formats/klog.md says", seq,
                              batch->frames.writer));
    }
    batch->records.push_back(*record);
  }
  return batch;
}

std::string text_of(const json& body, const char* key) {
  const auto found = body.find(key);
  return found != body.end() && found->is_string() ? found->get<std::string>() : "";
}

// Puts the records of one batch into the draft of its run.
class RecordApplier {
 public:
  RecordApplier(Store::Impl& store, Database& database, LiveRun& run, int attempt)
      : store_(store), database_(database), run_(run), attempt_(attempt) {}

  Result<void> apply(const track::RecordView& record) {
    if (record.type == "scalars") {
      apply_points(record, MetricKind::Metric);
      return {};
    }
    if (record.type == "system") {
      apply_points(record, MetricKind::System);
      return {};
    }
    auto body = track::parse_body(record.body);
    return body ? apply_other(record, std::move(*body)) : Result<void>();
  }

 private:
  void apply_points(const track::RecordView& record, MetricKind kind) {
    scalars_.clear();
    track::parse_scalars(record.body, scalars_);
    if (scalars_.empty()) {
      return;
    }
    RunDraft& draft = store_.change(run_, kChangedMetrics);
    for (const track::ScalarView& scalar : scalars_) {
      store_.add_point(run_, find_place(scalar.key, kind),
                       {.step = record.step, .time_us = record.time_us, .value = scalar.value});
    }
    if (kind == MetricKind::Metric && attempt_ >= draft.facts.attempt) {
      draft.facts.last_step = std::max(draft.facts.last_step.value_or(record.step), record.step);
    }
  }

  // Logs repeat the same names in the same order: the series that followed the last one the last
  // time is most likely the one.
  std::size_t find_place(std::string_view key, MetricKind kind) {
    if (last_ < run_.series.size()) {
      const std::size_t next = run_.series[last_].next;
      const LiveSeries& guess = run_.series[next];
      if (guess.kind == kind && guess.attempt == attempt_ && guess.name == key) {
        last_ = next;
        return next;
      }
    }
    const std::size_t place =
        find_or_add_series(run_, attempt_, kind, key, store_.index.metric_keys);
    if (last_ < run_.series.size()) {
      run_.series[last_].next = place;
    }
    last_ = place;
    return place;
  }

  Result<void> apply_other(const track::RecordView& record, json body) {
    if (record.type == "console") {
      store_.change(run_, kChangedConsole)
          .console.push_back({.time_us = record.time_us, .text = text_of(body, "line")});
      return {};
    }
    if (!body.is_object()) {
      return {};
    }
    if (record.type == "attempt") {
      return apply_attempt(record, body);
    }
    if (record.type == "state") {
      return apply_state(record, text_of(body, "state"));
    }
    if (record.type == "tags" && body.contains("tags") && body["tags"].is_array()) {
      return apply_tags(body["tags"]);
    }
    if (record.type == "summary") {
      return apply_summary(std::move(body));
    }
    RunDraft& draft = store_.change(run_, kChangedRecords);
    if (record.type == "config") {
      draft.facts.config_hash = make_valid_text(text_of(body, "hash"));
    }
    const std::string key = text_of(body, body.contains("key")     ? "key"
                                          : body.contains("title") ? "title"
                                                                   : "name");
    return write_record(database_, run_.row,
                        {.type = std::string(record.type),
                         .key = key,
                         .step = record.step,
                         .time_us = record.time_us,
                         .attempt = attempt_,
                         .body = std::move(body)});
  }

  Result<void> apply_attempt(const track::RecordView& record, const json& body) {
    Attempt attempt{.number = attempt_, .host = text_of(body, "host")};
    attempt.started_us = record.time_us;
    const auto from = body.find("from_step");
    attempt.from_step =
        from != body.end() && from->is_number_integer() ? from->get<std::int64_t>() : 0;
    if (const auto changes = body.find("changes"); changes != body.end()) {
      attempt.changes = *changes;
    }
    KEDGE_TRY(store_.add_attempt(database_, run_, attempt));
    if (attempt_ >= run_.draft->facts.attempt) {
      store_.set_state(run_, RunState::Running, record.time_us);
      run_.draft->facts.last_step.reset();
      if (*attempt.from_step > 0) {
        run_.draft->facts.last_step = attempt.from_step;
      }
      if (!attempt.host.empty()) {
        run_.draft->facts.host = make_valid_text(attempt.host);
      }
    }
    return {};
  }

  Result<void> apply_state(const track::RecordView& record, const std::string& name) {
    if (attempt_ >= run_.draft->facts.attempt) {
      store_.set_state(run_, parse_run_state(name).value_or(RunState::Failed), record.time_us);
    }
    store_.change(run_, kChangedFacts);
    return database_.run(
        "UPDATE attempts SET state = $3, ended_us = $4 WHERE run = $1 AND number = $2",
        {run_.row, attempt_, make_valid_text(name), record.time_us});
  }

  // Values that are also logged as curves are left to the curves, which may go on.
  Result<void> apply_summary(json values) {
    json others = json::object();
    for (auto& [key, value] : values.items()) {
      const bool is_curve = std::ranges::any_of(run_.places, [&, &name = key](const auto& names) {
        return names.first.second == MetricKind::Metric && names.second.contains(name);
      });
      if (!is_curve) {
        others[key] = std::move(value);
      }
    }
    return others.empty() ? Result<void>()
                          : store_.apply_patch(database_, run_, {.summary = std::move(others)});
  }

  Result<void> apply_tags(const json& list) {
    RunPatch patch;
    patch.tags.emplace();
    for (const json& tag : list) {
      if (tag.is_string()) {
        patch.tags->push_back(tag.get<std::string>());
      }
    }
    return store_.apply_patch(database_, run_, patch);
  }

  Store::Impl& store_;
  Database& database_;
  LiveRun& run_;
  int attempt_;
  std::size_t last_ = static_cast<std::size_t>(-1);
  std::vector<track::ScalarView> scalars_;
};

Result<void> take_batch(Store::Impl& store, Database& database, const Batch& batch,
                        IngestAnswer& answer) {
  const Frames& frames = batch.frames;
  LiveRun& run = *KEDGE_TRY(store.touch_or_create(database, frames.run, batch.now_us));
  RunDraft& draft = *run.draft;
  auto staged = draft.sources.find(frames.writer);
  const auto committed = run.sources.find(frames.writer);
  SourceState state = staged != draft.sources.end()    ? staged->second
                      : committed != run.sources.end() ? committed->second
                                                       : SourceState();
  answer = {.state = state, .is_gap = frames.from_seq > state.next_seq};
  if (answer.is_gap || frames.from_seq + batch.records.size() <= state.next_seq) {
    return {};
  }
  const auto parsed = track::ChainDigest::parse(state.digest);
  if (!parsed) {
    return fail(ErrorKind::Corrupt, "the digest of a log in the store is damaged");
  }
  track::ChainDigest digest = *parsed;
  store.note_life(run, batch.now_us);
  RecordApplier applier(store, database, run,
                        attempt_of(frames.writer).value_or(draft.facts.attempt));
  for (auto i = static_cast<std::size_t>(state.next_seq - frames.from_seq);
       i < batch.records.size(); ++i) {
    const track::RecordView& record = batch.records[i];
    KEDGE_TRY(applier.apply(record));
    digest.add(record.payload);
    ++state.next_seq;
    state.offset += record.frame_bytes();
    ++answer.accepted;
  }
  state.digest = digest.text();
  draft.sources[frames.writer] = state;
  answer.state = state;
  return {};
}

}  // namespace

void Store::ingest(Frames frames, std::int64_t now_us, Done<IngestAnswer> done) {
  auto batch = check_frames(std::move(frames), now_us);
  if (!batch) {
    done(std::unexpected(std::move(batch).error()));
    return;
  }
  auto answer = std::make_shared<IngestAnswer>();
  const std::size_t bytes = (*batch)->frames.bytes.size();
  impl_->writer->submit(
      [this, batch = std::move(*batch), answer](Database& database) {
        return take_batch(*impl_, database, *batch, *answer);
      },
      [answer, done = std::move(done)](Result<void> result) {
        done(result ? Result<IngestAnswer>(std::move(*answer))
                    : Result<IngestAnswer>(std::unexpected(std::move(result).error())));
      },
      bytes);
}

Result<IngestAnswer> Store::ingest(Frames frames, std::int64_t now_us) {
  std::promise<Result<IngestAnswer>> promise;
  ingest(std::move(frames), now_us,
         [&](Result<IngestAnswer> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

Result<SourceState> Store::find_source(const RunKey& key, const std::string& writer) const {
  const EntryPointer entry = impl_->index.find(key);
  SourceState state;
  if (entry == nullptr) {
    return state;
  }
  KEDGE_TRY(impl_->read([&](Database& database) {
    return database.query(
        "SELECT next_seq, byte_offset, digest FROM sources WHERE run = $1 AND writer = $2",
        {entry->row, writer}, [&](const SqlRow& row) -> Result<void> {
          state = {static_cast<std::uint64_t>(row.integer(0)),
                   static_cast<std::uint64_t>(row.integer(1)), row.string(2)};
          return {};
        });
  }));
  return state;
}

}  // namespace kedge::store
