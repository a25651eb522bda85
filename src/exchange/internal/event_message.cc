#include "exchange/internal/event_message.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/protobuf.h"
#include "exchange/internal/tensor_proto.h"

namespace kedge::exchange {
namespace {

constexpr double kMicroseconds = 1e6;

std::vector<double> packed_doubles(const ProtoField& field) {
  if (field.wire == ProtoReader::kFixed64) {
    return {field.as_double()};
  }
  std::vector<double> numbers;
  ProtoReader packed(field.bytes);
  while (packed.is_good() && !packed.is_at_end()) {
    const std::uint64_t bits = packed.fixed<std::uint64_t>();
    if (packed.is_good()) {
      numbers.push_back(std::bit_cast<double>(bits));
    }
  }
  return numbers;
}

// Limits are the right ends; the left one of the first is the least value and the right one of the
// last the greatest, for the outermost limits may be 1e308. Empty buckets outside say nothing.
std::optional<EventHistogram> histogram_of(double min, double max, std::vector<double> limits,
                                           std::vector<double> counts) {
  if (limits.size() != counts.size()) {
    return std::nullopt;
  }
  const auto is_filled = [](double count) { return count != 0; };
  const auto first = std::ranges::find_if(counts, is_filled) - counts.begin();
  const auto last = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), is_filled);
  if (first >= last) {
    return EventHistogram{};
  }
  EventHistogram histogram;
  histogram.edges.push_back(min);
  histogram.edges.insert(histogram.edges.end(), limits.begin() + first, limits.begin() + last - 1);
  histogram.edges.push_back(max);
  histogram.counts.assign(counts.begin() + first, counts.begin() + last);
  for (std::size_t i = 1; i < histogram.edges.size(); ++i) {
    histogram.edges[i] = std::max(histogram.edges[i], histogram.edges[i - 1]);
  }
  return histogram;
}

std::optional<EventHistogram> parse_histogram(std::string_view message) {
  double min = 0;
  double max = 0;
  std::vector<double> limits;
  std::vector<double> counts;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (field.number == 1) {
      min = field.as_double();
    } else if (field.number == 2) {
      max = field.as_double();
    } else if (field.number == 6 || field.number == 7) {
      std::vector<double>& numbers = field.number == 6 ? limits : counts;
      const std::vector<double> more = packed_doubles(field);
      numbers.insert(numbers.end(), more.begin(), more.end());
    }
  }
  return reader.is_good() ? histogram_of(min, max, std::move(limits), std::move(counts))
                          : std::nullopt;
}

// Rows of left end, right end, count.
std::optional<EventHistogram> histogram_of(const SmallTensor& tensor) {
  if (tensor.shape.size() != 2 || tensor.shape[1] != 3) {
    return std::nullopt;
  }
  EventHistogram histogram;
  for (std::size_t i = 0; i + 2 < tensor.numbers.size(); i += 3) {
    if (histogram.edges.empty()) {
      histogram.edges.push_back(tensor.numbers[i]);
    }
    histogram.edges.push_back(tensor.numbers[i + 1]);
    histogram.counts.push_back(tensor.numbers[i + 2]);
  }
  return histogram;
}

std::optional<EventImages> parse_image(std::string_view message) {
  EventImages images;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    if (field.number == 1) {
      images.height = static_cast<std::int64_t>(field.integer);
    } else if (field.number == 2) {
      images.width = static_cast<std::int64_t>(field.integer);
    } else if (field.number == 4) {
      images.encoded.emplace_back(field.bytes);
    }
  }
  return reader.is_good() && !images.encoded.empty() ? std::optional(images) : std::nullopt;
}

// Texts: width, height, then the images.
std::optional<EventImages> images_of(const SmallTensor& tensor) {
  if (tensor.texts.size() < 3 || tensor.texts[0].size() > 9 || tensor.texts[1].size() > 9) {
    return std::nullopt;
  }
  EventImages images;
  images.width = std::atoll(tensor.texts[0].c_str());
  images.height = std::atoll(tensor.texts[1].c_str());
  images.encoded.assign(tensor.texts.begin() + 2, tensor.texts.end());
  return images;
}

std::optional<EventText> text_of(const SmallTensor& tensor) {
  if (tensor.texts.empty()) {
    return std::nullopt;
  }
  EventText text;
  for (const std::string& part : tensor.texts) {
    text.text += (text.text.empty() ? "" : "\n") + part;
  }
  return text;
}

std::optional<EventContent> content_of(const SmallTensor& tensor, const std::string& plugin) {
  if (plugin == "scalars" || (plugin.empty() && tensor.numbers.size() == 1)) {
    return tensor.numbers.size() == 1 ? std::optional<EventContent>(tensor.numbers[0])
                                      : std::nullopt;
  }
  if (plugin == "histograms") {
    return histogram_of(tensor);
  }
  if (plugin == "images") {
    return images_of(tensor);
  }
  if (plugin == "text") {
    return text_of(tensor);
  }
  return std::nullopt;
}

// SummaryMetadata.plugin_data.plugin_name
std::string plugin_in(std::string_view metadata) {
  std::string plugin;
  ProtoReader reader(metadata);
  ProtoField data;
  while (reader.next(data)) {
    ProtoReader inner(data.number == 1 ? data.bytes : std::string_view());
    ProtoField field;
    while (inner.next(field)) {
      if (field.number == 1) {
        plugin = field.bytes;
      }
    }
  }
  return plugin;
}

// False: it is no message. A value of another kind is counted and passed over.
bool parse_value(std::string_view message, EventContext context, Event& event) {
  EventValue value;
  std::optional<EventContent> content;
  std::optional<std::string_view> tensor;
  std::string plugin;
  ProtoReader reader(message);
  ProtoField field;
  while (reader.next(field)) {
    switch (field.number) {
      case 1:
        value.tag = field.bytes;
        break;
      case 2:
        content = static_cast<double>(field.as_float());
        break;
      case 4:
        content = parse_image(field.bytes);
        break;
      case 5:
        content = parse_histogram(field.bytes);
        break;
      case 8:
        tensor = field.bytes;
        break;
      case 9:
        plugin = plugin_in(field.bytes);
        break;
      default:
        break;
    }
  }
  if (!reader.is_good()) {
    return false;
  }
  if (!plugin.empty()) {
    context.plugin_of_tag.emplace(value.tag, plugin);
  } else if (const auto known = context.plugin_of_tag.find(value.tag);
             known != context.plugin_of_tag.end()) {
    plugin = known->second;
  }
  if (tensor) {
    const auto parsed = parse_tensor(*tensor);
    content = parsed ? content_of(*parsed, plugin) : std::nullopt;
  }
  if (!content) {
    ++context.skipped[plugin.empty() ? "unknown" : plugin];
    return true;
  }
  value.content = *std::move(content);
  event.values.push_back(std::move(value));
  return true;
}

std::int64_t microseconds_of(double seconds) {
  constexpr double kMost = 9e12;
  return std::abs(seconds) < kMost
             ? static_cast<std::int64_t>(std::llround(seconds * kMicroseconds))
             : 0;
}

std::string render_histogram(const EventHistogram& histogram) {
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const double middle = (histogram.edges[i] + histogram.edges[i + 1]) / 2;
    count += histogram.counts[i];
    sum += histogram.counts[i] * middle;
    squares += histogram.counts[i] * middle * middle;
  }
  const auto& edges = histogram.edges;
  ProtoWriter writer;
  writer.number(1, edges.empty() ? 0 : edges.front());
  writer.number(2, edges.empty() ? 0 : edges.back());
  writer.number(3, count);
  writer.number(4, sum);
  writer.number(5, squares);
  writer.packed(6, edges.empty() ? edges : std::vector<double>(edges.begin() + 1, edges.end()));
  writer.packed(7, histogram.counts);
  return writer.message();
}

std::string render_image(const EventImages& images, const std::string& encoded) {
  ProtoWriter writer;
  writer.integer(1, static_cast<std::uint64_t>(images.height));
  writer.integer(2, static_cast<std::uint64_t>(images.width));
  writer.integer(3, 3);  // RGB; readers go by the PNG itself
  writer.bytes(4, encoded);
  return writer.message();
}

std::string plugin_metadata(std::string_view plugin) {
  ProtoWriter data;
  data.bytes(1, plugin);
  ProtoWriter metadata;
  metadata.bytes(1, data.message());
  return metadata.message();
}

void append_value(ProtoWriter& summary, const EventValue& value) {
  const auto with_tag = [&](const std::string& tag) {
    ProtoWriter writer;
    writer.bytes(1, tag);
    return writer;
  };
  if (const auto* images = std::get_if<EventImages>(&value.content)) {
    for (std::size_t i = 0; i < images->encoded.size(); ++i) {
      ProtoWriter writer =
          with_tag(images->encoded.size() == 1 ? value.tag : value.tag + "/" + std::to_string(i));
      writer.bytes(4, render_image(*images, images->encoded[i]));
      summary.bytes(1, writer.message());
    }
    return;
  }
  ProtoWriter writer = with_tag(value.tag);
  if (const auto* scalar = std::get_if<double>(&value.content)) {
    writer.single(2, static_cast<float>(*scalar));
  } else if (const auto* histogram = std::get_if<EventHistogram>(&value.content)) {
    writer.bytes(5, render_histogram(*histogram));
  } else {
    writer.bytes(8, render_text_tensor(std::get<EventText>(value.content).text));
    writer.bytes(9, plugin_metadata("text"));
  }
  summary.bytes(1, writer.message());
}

}  // namespace

std::optional<Event> parse_event(std::string_view message, EventContext context) {
  Event event;
  ProtoReader reader(message);
  ProtoField field;
  std::string_view summary;
  while (reader.next(field)) {
    if (field.number == 1) {
      event.time_us = microseconds_of(field.as_double());
    } else if (field.number == 2) {
      event.step = static_cast<std::int64_t>(field.integer);
    } else if (field.number == 5) {
      summary = field.bytes;
    }
  }
  ProtoReader values(summary);
  bool is_good = reader.is_good();
  while (is_good && values.next(field)) {
    is_good = field.number != 1 || parse_value(field.bytes, context, event);
  }
  return is_good && values.is_good() ? std::optional(std::move(event)) : std::nullopt;
}

std::string render_event(const Event& event) {
  ProtoWriter summary;
  for (const EventValue& value : event.values) {
    append_value(summary, value);
  }
  ProtoWriter writer;
  writer.number(1, static_cast<double>(event.time_us) / kMicroseconds);
  writer.integer(2, static_cast<std::uint64_t>(event.step));
  writer.bytes(5, summary.message());
  return writer.message();
}

std::string render_version(std::int64_t time_us) {
  ProtoWriter writer;
  writer.number(1, static_cast<double>(time_us) / kMicroseconds);
  writer.bytes(3, "brain.Event:2");
  return writer.message();
}

}  // namespace kedge::exchange
