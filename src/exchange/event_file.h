// TensorBoard's event files, in and out: records framed as TFRecord frames them, each an Event of
// event.proto, read by hand as far as scalars, histograms, images and texts go.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/file.h"
#include "core/result.h"

namespace kedge::exchange {

// counts[i] values lie between edges[i] and edges[i + 1]; TensorBoard's counts may be fractions.
struct EventHistogram {
  std::vector<double> edges;
  std::vector<double> counts;
};

// One or more images of a step, encoded (PNG, as a rule).
struct EventImages {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::string> encoded;
};

struct EventText {
  std::string text;
};

using EventContent = std::variant<double, EventHistogram, EventImages, EventText>;

struct EventValue {
  std::string tag;
  EventContent content;
};

struct Event {
  std::int64_t time_us = 0;  // Unix time
  std::int64_t step = 0;
  std::vector<EventValue> values = {};
};

class EventFileReader {
 public:
  static Result<EventFileReader> open(const Path& path);

  // For bytes from elsewhere, which must live as long as the reader; `name` is for errors.
  EventFileReader(std::string_view bytes, std::string name)
      : rest_(bytes), name_(std::move(name)) {}

  // The next event with values, or nothing at the end. An incomplete last record is the end, as a
  // program that was killed leaves it; anything else that is wrong is Corrupt.
  Result<std::optional<Event>> next();

  // What was passed over: the names of the plug-ins that made it, and how many values.
  const std::map<std::string, std::uint64_t>& skipped() const { return skipped_; }

 private:
  Result<std::optional<std::string_view>> next_record();
  Error damaged(std::string_view what) const;

  MappedFile file_;
  std::string_view rest_;
  std::uint64_t offset_ = 0;  // of rest_
  std::string name_;
  std::map<std::string, std::string> plugin_of_tag_;  // only the first value of a tag must have it
  std::map<std::string, std::uint64_t> skipped_;
};

// Whether TensorBoard would take it for one of its files.
bool is_event_file(const Path& path);

class EventFileWriter {
 public:
  // Makes a file in the folder that TensorBoard is pointed at.
  static Result<EventFileWriter> create(const Path& folder, std::int64_t created_us);

  Result<void> add(const Event& event);

  // To the disk; nothing may be added after it.
  Result<void> finish();

  const Path& path() const { return path_; }

 private:
  EventFileWriter(Path path, OwnedFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Result<void> append(std::string_view record);

  Path path_;
  OwnedFd fd_;
  std::string waiting_;
};

}  // namespace kedge::exchange
