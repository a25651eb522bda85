#include "mlflow/internal/listed.h"

#include <optional>

#include <fmt/format.h>

#include "mlflow/internal/call.h"

namespace kedge::mlflow {

bool passes(const Clause& clause, const Listed& value) {
  const auto* number = std::get_if<double>(&value);
  if (clause.is_numeric) {
    return matches_number(clause, number == nullptr ? std::nullopt : std::optional(*number));
  }
  if (number != nullptr) {
    return matches_text(clause, fmt::format("{:.0f}", *number));
  }
  const auto* text = std::get_if<std::string>(&value);
  return matches_text(clause, text == nullptr ? std::nullopt : std::optional(*text));
}

int compare_listed(const Listed& a, const Listed& b, bool is_ascending) {
  const bool has_a = !std::holds_alternative<std::monostate>(a);
  const bool has_b = !std::holds_alternative<std::monostate>(b);
  if (!has_a || !has_b) {
    return has_a ? -1 : has_b ? 1 : 0;
  }
  const int order = a < b ? -1 : b < a ? 1 : 0;
  return is_ascending ? order : -order;
}

Listed text_in(const std::map<std::string, std::string>& texts, std::string_view key) {
  const auto found = texts.find(std::string(key));
  return found == texts.end() ? Listed() : found->second;
}

Listed time_of(std::int64_t us) {
  return static_cast<double>(to_ms(us));
}

}  // namespace kedge::mlflow
