#include "mlflow/internal/otlp.h"

#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base64.h"
#include "core/hex.h"
#include "core/utf8.h"

namespace kedge::mlflow {
namespace {

// Values in values: deeper than this is nobody's attribute.
constexpr int kMaxDepth = 32;

// One field of a message: a number, or bytes.
struct WireField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes = {};
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // Nothing at the end, and when it is broken.
  std::optional<WireField> next() {
    if (rest_.empty() || is_broken_) {
      return std::nullopt;
    }
    const std::uint64_t key = varint();
    WireField field{.number = static_cast<std::uint32_t>(key >> 3U)};
    switch (key & 7U) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2: {
        const std::uint64_t size = varint();
        if (size > rest_.size()) {
          is_broken_ = true;
          break;
        }
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        break;
      }
      case 5:
        field.value = fixed(4);
        break;
      default:
        is_broken_ = true;
    }
    return is_broken_ ? std::nullopt : std::optional(field);
  }

  bool is_broken() const { return is_broken_; }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) {
        break;
      }
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 127U) << shift;
      if (byte < 128) {
        return value;
      }
    }
    is_broken_ = true;
    return 0;
  }

  std::uint64_t fixed(std::size_t size) {
    if (rest_.size() < size) {
      is_broken_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
  bool is_broken_ = false;
};

using Visit = std::function<void(const WireField& field)>;

bool read_message(std::string_view bytes, const Visit& visit) {
  WireReader reader(bytes);
  while (const auto field = reader.next()) {
    visit(*field);
  }
  return !reader.is_broken();
}

class SpanReader {
 public:
  bool is_good() const { return is_good_; }

  OtlpSpan span(std::string_view bytes) {
    constexpr std::array<std::string_view, 6> kKinds = {
        "SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER",
        "SPAN_KIND_CLIENT",      "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER"};
    OtlpSpan span{.is_root = true, .body = nlohmann::json::object()};
    nlohmann::json& body = span.body;
    read(bytes, [&](const WireField& field) {
      switch (field.number) {
        case 1:
          span.trace_id = "tr-" + render_hex(field.bytes);
          body["trace_id"] = encode_base64(field.bytes);
          break;
        case 2:
          span.span_id = render_hex(field.bytes);
          body["span_id"] = encode_base64(field.bytes);
          break;
        case 4:
          span.is_root = field.bytes.empty();
          if (!span.is_root) {
            body["parent_span_id"] = encode_base64(field.bytes);
          }
          break;
        case 5:
          body["name"] = as_utf8(field.bytes);
          break;
        case 6:
          if (field.value > 1 && field.value < kKinds.size()) {
            body["kind"] = kKinds.at(field.value);
          }
          break;
        case 7:
          span.start_ns = field.value;
          body["start_time_unix_nano"] = field.value;
          break;
        case 8:
          span.end_ns = field.value;
          body["end_time_unix_nano"] = field.value;
          break;
        case 9:
          add_attribute(body, field.bytes, 0, &span);
          break;
        case 11:
          body["events"].push_back(event(field.bytes));
          break;
        case 13:
          body["links"].push_back(link(field.bytes));
          break;
        case 15:
          body["status"] = status(field.bytes);
          break;
        default:
          break;
      }
    });
    return span;
  }

 private:
  void read(std::string_view bytes, const Visit& visit) {
    is_good_ = read_message(bytes, visit) && is_good_;
  }

  nlohmann::json value(std::string_view bytes, int depth) {
    nlohmann::json body = nlohmann::json::object();
    if (depth > kMaxDepth) {
      is_good_ = false;
      return body;
    }
    read(bytes, [&](const WireField& field) {
      switch (field.number) {
        case 1:
          body["string_value"] = as_utf8(field.bytes);
          break;
        case 2:
          body["bool_value"] = field.value != 0;
          break;
        case 3:
          body["int_value"] = static_cast<std::int64_t>(field.value);
          break;
        case 4:
          body["double_value"] = std::bit_cast<double>(field.value);
          break;
        case 5:
          body["array_value"] = values(field.bytes, depth, false);
          break;
        case 6:
          body["kvlist_value"] = values(field.bytes, depth, true);
          break;
        case 7:
          body["bytes_value"] = encode_base64(field.bytes);
          break;
        default:
          break;
      }
    });
    return body;
  }

  nlohmann::json values(std::string_view bytes, int depth, bool is_keyed) {
    nlohmann::json list = nlohmann::json::array();
    read(bytes, [&](const WireField& field) {
      if (field.number == 1) {
        list.push_back(is_keyed ? key_value(field.bytes, depth + 1)
                                : value(field.bytes, depth + 1));
      }
    });
    return {{"values", std::move(list)}};
  }

  nlohmann::json key_value(std::string_view bytes, int depth) {
    nlohmann::json body = {{"key", ""}};
    read(bytes, [&](const WireField& field) {
      if (field.number == 1) {
        body["key"] = as_utf8(field.bytes);
      } else if (field.number == 2) {
        if (nlohmann::json inner = value(field.bytes, depth); !inner.empty()) {
          body["value"] = std::move(inner);
        }
      }
    });
    return body;
  }

  void add_attribute(nlohmann::json& body, std::string_view bytes, int depth, OtlpSpan* span) {
    nlohmann::json attribute = key_value(bytes, depth);
    const auto text = attribute.value(nlohmann::json::json_pointer("/value/string_value"), "");
    if (span != nullptr && attribute["key"] == "mlflow.traceRequestId" && !text.empty()) {
      // Some writers have it as JSON.
      span->trace_id = text.size() > 1 && text.front() == '"' && text.back() == '"'
                           ? text.substr(1, text.size() - 2)
                           : text;
    }
    body["attributes"].push_back(std::move(attribute));
  }

  nlohmann::json event(std::string_view bytes) {
    nlohmann::json body = nlohmann::json::object();
    read(bytes, [&](const WireField& field) {
      if (field.number == 1) {
        body["time_unix_nano"] = field.value;
      } else if (field.number == 2) {
        body["name"] = as_utf8(field.bytes);
      } else if (field.number == 3) {
        add_attribute(body, field.bytes, 0, nullptr);
      }
    });
    return body;
  }

  nlohmann::json link(std::string_view bytes) {
    nlohmann::json body = nlohmann::json::object();
    read(bytes, [&](const WireField& field) {
      if (field.number == 1 || field.number == 2) {
        body[field.number == 1 ? "trace_id" : "span_id"] = encode_base64(field.bytes);
      } else if (field.number == 4) {
        add_attribute(body, field.bytes, 0, nullptr);
      }
    });
    return body;
  }

  nlohmann::json status(std::string_view bytes) {
    constexpr std::array<std::string_view, 3> kCodes = {"STATUS_CODE_UNSET", "STATUS_CODE_OK",
                                                        "STATUS_CODE_ERROR"};
    nlohmann::json body = nlohmann::json::object();
    read(bytes, [&](const WireField& field) {
      if (field.number == 2 && !field.bytes.empty()) {
        body["message"] = as_utf8(field.bytes);
      } else if (field.number == 3 && field.value < kCodes.size()) {
        body["code"] = kCodes.at(field.value);
      }
    });
    return body;
  }

  bool is_good_ = true;
};

}  // namespace

Result<std::vector<OtlpSpan>> parse_otlp(std::string_view bytes) {
  std::vector<OtlpSpan> spans;
  SpanReader reader;
  bool is_good = true;
  const auto of_scope = [&](const WireField& field) {
    if (field.number == 2) {
      spans.push_back(reader.span(field.bytes));
    }
  };
  const auto of_resource = [&](const WireField& field) {
    if (field.number == 2) {
      is_good = read_message(field.bytes, of_scope) && is_good;
    }
  };
  is_good = read_message(bytes,
                         [&](const WireField& field) {
                           if (field.number == 1) {
                             is_good = read_message(field.bytes, of_resource) && is_good;
                           }
                         }) &&
            is_good;
  if (!is_good || !reader.is_good()) {
    return fail(ErrorKind::Corrupt, "the body is no protobuf message of spans");
  }
  std::erase_if(spans,
                [](const OtlpSpan& span) { return span.trace_id.empty() || span.span_id.empty(); });
  return spans;
}

}  // namespace kedge::mlflow
