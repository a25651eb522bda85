// The values that a filter compares with: numbers, texts, true, null, dates and spans of time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/result.h"
#include "store/internal/field.h"
#include "store/internal/query_lexer.h"
#include "store/query.h"

namespace kedge::store {

// Of a moment: microseconds, and how long what was written lasts (a day for "2026-11-01").
struct Moment {
  std::int64_t start_us = 0;
  std::int64_t length_us = 0;
};

using Literal = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Moment>;

// What the token means where a field of this type is compared with it.
Result<Literal> literal_of(const Token& token, FieldType type, std::int64_t now_us);

// "2026", "2026-11", "2026-11-01", "2026-11-01 12:30", "2026-11-01T12:30:05.25Z", "...+02:00".
std::optional<Moment> find_moment(std::string_view text);

// "-7d", "2h30m", "1.5h", "+10s": microseconds.
std::optional<std::int64_t> find_span_us(std::string_view text);

bool is_equal(const QueryValue& value, const Literal& literal);

// -1, 0 or 1 for numbers with numbers, texts with texts, moments with moments; nothing for the
// others, and for NaN.
std::optional<int> find_order(const QueryValue& value, const Literal& literal);

}  // namespace kedge::store
