#include "track/internal/cbor.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace kedge::track {
namespace {

constexpr int kMaxDepth = 32;

void append_big_endian(std::string& out, std::uint64_t value, unsigned size) {
  for (unsigned i = size; i-- > 0;) {
    out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  }
}

// A major type with its argument in the shortest form.
void append_head(std::string& out, unsigned major, std::uint64_t argument) {
  const unsigned top = major << 5U;
  if (argument < 24) {
    out += static_cast<char>(top | static_cast<unsigned>(argument));
  } else if (argument <= 0xFF) {
    out += static_cast<char>(top | 24U);
    append_big_endian(out, argument, 1);
  } else if (argument <= 0xFFFF) {
    out += static_cast<char>(top | 25U);
    append_big_endian(out, argument, 2);
  } else if (argument <= 0xFFFFFFFF) {
    out += static_cast<char>(top | 26U);
    append_big_endian(out, argument, 4);
  } else {
    out += static_cast<char>(top | 27U);
    append_big_endian(out, argument, 8);
  }
}

// nlohmann's reader recurses once per level; stopping it at a level keeps the stack small.
class ShallowBuilder : public nlohmann::detail::json_sax_dom_parser<nlohmann::json> {
 public:
  using Base = nlohmann::detail::json_sax_dom_parser<nlohmann::json>;

  explicit ShallowBuilder(nlohmann::json& root) : Base(root, false) {}

  bool start_object(std::size_t size) { return ++depth_ <= kMaxDepth && Base::start_object(size); }

  bool end_object() {
    --depth_;
    return Base::end_object();
  }

  bool start_array(std::size_t size) { return ++depth_ <= kMaxDepth && Base::start_array(size); }

  bool end_array() {
    --depth_;
    return Base::end_array();
  }

 private:
  int depth_ = 0;
};

// nlohmann's reader also recurses once per level of strings in chunks inside strings in chunks,
// which RFC 8949 forbids. Items lie one after the other, so no stack is needed to find them.
bool has_nested_chunks(std::span<const std::uint8_t> bytes) {
  bool is_in_chunks = false;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const unsigned major = bytes[at] >> 5U;
    const unsigned info = bytes[at] & 31U;
    const bool is_string = major == 2 || major == 3;
    ++at;
    if (info == 31) {
      if (is_string && is_in_chunks) {
        return true;
      }
      is_in_chunks = is_string;  // a break ends the chunks, if it is theirs
      continue;
    }
    const std::size_t size = info < 24 || info > 27 ? 0 : std::size_t{1} << (info - 24);
    if (size > bytes.size() - at) {
      return false;  // cut short, which the reader finds
    }
    std::uint64_t argument = info;
    for (std::size_t i = 0; i < size; ++i) {
      argument = (i == 0 ? 0 : argument << 8U) | bytes[at + i];
    }
    at += size;
    if (is_string) {
      if (argument > bytes.size() - at) {
        return false;
      }
      at += static_cast<std::size_t>(argument);
    }
  }
  return false;
}

}  // namespace

void append_cbor_map(std::string& out, std::uint64_t pairs) {
  append_head(out, 5, pairs);
}

void append_cbor_text(std::string& out, std::string_view text) {
  append_head(out, 3, text.size());
  out += text;
}

void append_cbor_integer(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  append_head(out, value < 0 ? 1 : 0, value < 0 ? ~bits : bits);
}

void append_cbor_double(std::string& out, double value) {
  out += static_cast<char>(0xFB);
  append_big_endian(out, std::bit_cast<std::uint64_t>(value), 8);
}

std::optional<nlohmann::json> parse_cbor(std::span<const std::uint8_t> bytes) {
  if (has_nested_chunks(bytes)) {
    return std::nullopt;
  }
  nlohmann::json value;
  ShallowBuilder builder(value);
  try {
    if (!nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &builder,
                                   nlohmann::json::input_format_t::cbor)) {
      return std::nullopt;
    }
  } catch (const std::exception&) {  // a size no container can have
    return std::nullopt;
  }
  return value;
}

}  // namespace kedge::track
