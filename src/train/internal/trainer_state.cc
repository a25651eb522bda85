#include "train/internal/trainer_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/hash.h"

namespace kedge::train {
namespace {

// JSON has no NaN and no infinities.
nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(fmt::format("{}", value));
}

double parse_number(const nlohmann::json& json) {
  if (json.is_number()) {
    return json.get<double>();
  }
  const auto text = json.get<std::string>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return text == "inf"    ? kInfinity
         : text == "-inf" ? -kInfinity
                          : std::numeric_limits<double>::quiet_NaN();
}

nlohmann::json render(const Best& best) {
  return {{"value", best.value() ? number(*best.value()) : nlohmann::json(nullptr)},
          {"since", best.since()}};
}

void restore_best(Best& best, const nlohmann::json& json) {
  const nlohmann::json& value = json.at("value");
  best.restore(value.is_null() ? std::nullopt : std::optional<double>(parse_number(value)),
               json.at("since"));
}

}  // namespace

void TrainerState::see(const data::Batch& seen) {
  for (std::size_t i = 0; i < seen.indices.size(); ++i) {
    const std::array<std::int64_t, 3> place = {epoch, seen.positions[i], seen.indices[i]};
    samples_hash += xxh3_64({reinterpret_cast<const std::uint8_t*>(place.data()), sizeof(place)});
  }
  ++batch;
  position += seen.global_count;
  samples += seen.count;
  epoch_samples += seen.count;
  epoch_skipped += seen.skipped;
}

void TrainerState::end_epoch() {
  ++epoch;
  batch = 0;
  position = 0;
  skipped = std::max(skipped, epoch_skipped);
  train_seconds += epoch_seconds;
  epoch_samples = 0;
  epoch_skipped = 0;
  epoch_seconds = 0;
}

void TrainerState::add_to_history(const Metrics& metrics) {
  nlohmann::json values = nlohmann::json::object();
  for (const auto& [name, value] : metrics) {
    values[name] = number(value);
  }
  history.push_back({{"epoch", epoch}, {"step", step}, {"metrics", std::move(values)}});
}

nlohmann::json TrainerState::to_json() const {
  nlohmann::json rates = nlohmann::json::array();
  for (const double value : schedule) {
    rates.push_back(number(value));
  }
  nlohmann::json best_json = render(best);
  best_json["epoch"] = best_epoch;
  nlohmann::json json = {{"epoch", epoch},
                         {"batch", batch},
                         {"position", position},
                         {"step", step},
                         {"samples", samples},
                         {"epoch_samples", epoch_samples},
                         {"epoch_skipped", epoch_skipped},
                         {"skipped", skipped},
                         {"samples_hash", samples_hash},
                         {"train_seconds", train_seconds},
                         {"epoch_seconds", epoch_seconds},
                         {"best", std::move(best_json)},
                         {"early_stop", render(early_stop)},
                         {"history", history},
                         {"schedule", std::move(rates)}};
  if (validated_step > 0) {
    json["validated_step"] = validated_step;
  }
  return json;
}

Result<void> TrainerState::restore(const nlohmann::json& json) {
  try {
    json.at("epoch").get_to(epoch);
    json.at("batch").get_to(batch);
    json.at("position").get_to(position);
    json.at("step").get_to(step);
    validated_step = json.value("validated_step", std::int64_t{0});  // where there is one
    json.at("samples").get_to(samples);
    json.at("epoch_samples").get_to(epoch_samples);
    json.at("epoch_skipped").get_to(epoch_skipped);
    json.at("skipped").get_to(skipped);
    json.at("samples_hash").get_to(samples_hash);
    json.at("train_seconds").get_to(train_seconds);
    json.at("epoch_seconds").get_to(epoch_seconds);
    restore_best(best, json.at("best"));
    json.at("best").at("epoch").get_to(best_epoch);
    restore_best(early_stop, json.at("early_stop"));
    history = json.at("history");
    schedule.clear();
    for (const nlohmann::json& value : json.at("schedule")) {
      schedule.push_back(parse_number(value));
    }
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorKind::Corrupt,
                fmt::format("the checkpoint does not hold a whole training: {}", error.what()),
                "it may come from an older kedge: start a new run from its weights with "
                "model.weights=CHECKPOINT resume=never");
  }
  return {};
}

}  // namespace kedge::train
