// A line of wandb-history.jsonl or wandb-events.jsonl as kedge keeps it: its numbers are points of
// curves, its media are records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/dialect/transcript.h"
#include "store/series.h"

namespace kedge::wandb {

inline constexpr double kSecond_us = 1e6;  // times are in seconds on the wire

// Usage when the line is no JSON object. `fallback` is what stands for a missing _step; `now_us`
// for a missing _timestamp.
Result<store::HistoryRow> parse_history(std::string line, std::int64_t fallback_step,
                                        std::int64_t now_us);

// "system.gpu.0.gpu" keeps its name, without "system.".
Result<store::HistoryRow> parse_event(std::string line, std::int64_t now_us);

// What an object with a `_type` is to kedge: histogram, image, table, html as the page shows them,
// anything else under its own type with its body as it came.
std::vector<store::Record> make_records(const std::string& key, const nlohmann::json& media);

// Nested objects with their names joined by dots; media and lists stay whole.
using FlatValues = std::vector<std::pair<std::string, const nlohmann::json*>>;
FlatValues flatten(const nlohmann::json& object);

bool is_media(const nlohmann::json& value);

}  // namespace kedge::wandb
