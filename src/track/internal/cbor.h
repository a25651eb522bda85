// CBOR (RFC 8949) as the event log uses it: written by hand for scalars, where speed counts, and
// read with a limit on depth, because the log may come from anywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace kedge::track {

void append_cbor_map(std::string& out, std::uint64_t pairs);
void append_cbor_text(std::string& out, std::string_view text);
void append_cbor_integer(std::string& out, std::int64_t value);
void append_cbor_double(std::string& out, double value);

// Nothing when the bytes are not exactly one CBOR value of at most 32 levels.
std::optional<nlohmann::json> parse_cbor(std::span<const std::uint8_t> bytes);

}  // namespace kedge::track
