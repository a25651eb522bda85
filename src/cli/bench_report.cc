// The measurements as text and as JSON.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/shared/text_table.h"
#include "core/units.h"

namespace kedge::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string per_second(double bytes_per_s) {
  return render_bytes({static_cast<std::uint64_t>(bytes_per_s)}) + "/s";
}

std::string render_speeds(const std::string& title, const std::vector<TrainingSpeed>& speeds,
                          double base) {
  Rows rows = {{title, "samples/s", "", "peak memory"}};
  for (const TrainingSpeed& speed : speeds) {
    if (speed.problem) {
      rows.push_back({speed.label, *speed.problem, "", ""});
    } else {
      rows.push_back({speed.label, render_count(speed.samples_per_s),
                      fmt::format("{:.2f}x", speed.samples_per_s / std::max(base, 1e-9)),
                      render_bytes({speed.peak_memory_bytes})});
    }
  }
  return render_table(rows);
}

std::string render_loader(const LoaderReport& report) {
  Rows rows = {{"loader workers", "samples/s", "decoded", "first batch", "longest wait"}};
  for (const LoaderSpeed& speed : report.speeds) {
    rows.push_back({std::to_string(speed.workers), render_count(speed.samples_per_s),
                    per_second(speed.bytes_per_s), render_seconds({speed.first_batch_s}),
                    render_seconds({speed.longest_wait_s})});
  }
  return render_table(rows);
}

// `samples_per_s` is what is wanted of the storage.
std::string render_storage(const LoaderReport& report, double samples_per_s) {
  const double per_sample = report.speeds.empty() ? 0 : report.speeds.back().read_bytes_per_sample;
  std::string text;
  if (per_sample < 1) {
    text = "storage  the samples are in memory: nothing is read while training\n";
  } else {
    text = fmt::format("storage  {} are read for a sample, {} at {} samples/s\n",
                       render_bytes({static_cast<std::uint64_t>(per_sample)}),
                       per_second(per_sample * samples_per_s), render_count(samples_per_s));
  }
  if (const auto& storage = report.storage) {
    text += fmt::format("         {} gives {}, {} files/s{}\n", storage->place.string(),
                        per_second(storage->bytes_per_s()), render_count(storage->files_per_s()),
                        storage->cached_fraction > 0.5 ? " (out of the machine's memory)" : "");
  }
  return text;
}

std::string render_waits(const BenchReport& report) {
  if (!report.waits) {
    return "";
  }
  if (report.waits->empty()) {
    return "waits    none: a step reads nothing back from the device\n";
  }
  std::string text;
  for (const StepWait& wait : *report.waits) {
    text += fmt::format("waits    {} {:.1f} times a step\n", wait.operation, wait.per_step);
  }
  return text;
}

std::string render_advice(const std::vector<std::string>& advice) {
  std::string text;
  for (const std::string& line : advice) {
    text += "advice   " + line + "\n";
  }
  return text;
}

nlohmann::json json_of(const std::vector<TrainingSpeed>& speeds) {
  nlohmann::json all = nlohmann::json::array();
  for (const TrainingSpeed& speed : speeds) {
    nlohmann::json json = {
        {"label", speed.label}, {"keys", speed.keys}, {"batch_size", speed.batch_size}};
    if (speed.problem) {
      json["problem"] = *speed.problem;
    } else {
      json["samples_per_s"] = speed.samples_per_s;
      json["peak_memory_bytes"] = speed.peak_memory_bytes;
      json["data_share"] = speed.data_fraction;
    }
    all.push_back(std::move(json));
  }
  return all;
}

nlohmann::json json_of(const LoaderReport& report) {
  nlohmann::json json = {{"samples", report.samples}, {"workers", nlohmann::json::array()}};
  for (const LoaderSpeed& speed : report.speeds) {
    json["workers"].push_back({{"workers", speed.workers},
                               {"samples_per_s", speed.samples_per_s},
                               {"bytes_per_s", speed.bytes_per_s},
                               {"first_batch_s", speed.first_batch_s},
                               {"longest_wait_s", speed.longest_wait_s},
                               {"read_bytes_per_sample", speed.read_bytes_per_sample}});
  }
  if (const auto& storage = report.storage) {
    json["storage"] = {{"place", storage->place.string()},
                       {"bytes_per_s", storage->bytes_per_s()},
                       {"files_per_s", storage->files_per_s()},
                       {"cached_share", storage->cached_fraction}};
  }
  return json;
}

}  // namespace

std::string render_text(const BenchReport& report) {
  const double base = base_of(report);
  std::string text = fmt::format("device   {}\n\n", report.device);
  text += render_loader(report.loader) + "\n";
  text += render_speeds("training", report.ways, base) + "\n";
  text += render_speeds("batch size", report.batches, base) + "\n";
  if (!report.why_no_larger.empty()) {
    text += "largest  " + report.why_no_larger + "\n";
  }
  text += render_storage(report.loader, base) + render_waits(report);
  if (const double noise = noise_of(report); noise > 1.2) {
    text += fmt::format(
        "noise    the same config measured twice differs by a factor of {:.1f}: "
        "smaller differences mean nothing\n",
        noise);
  }
  return text + render_advice(advise(report));
}

std::string render_text(const LoaderReport& report) {
  const double rate = report.speeds.empty() ? 0 : report.speeds.front().samples_per_s;
  return render_loader(report) + "\n" + render_storage(report, rate) +
         render_advice(advise(report));
}

std::string render_text(const BatchSearch& search) {
  double most = 0;
  for (const TrainingSpeed& speed : search.tried) {
    most = std::max(most, speed.samples_per_s);
  }
  std::string text = fmt::format("device   {}\n\n", search.device);
  text += render_speeds("batch size", search.tried, most) + "\n";
  if (!search.why_no_larger.empty()) {
    text += "largest  " + search.why_no_larger + "\n";
  }
  return text + fmt::format(
                    "best     loader.batch_size={}, the smallest within 5% of the "
                    "fastest; the learning rate may have to follow\n",
                    search.best);
}

std::string render_json(const BenchReport& report) {
  nlohmann::json json = {{"device", report.device},
                         {"loader", json_of(report.loader)},
                         {"ways", json_of(report.ways)},
                         {"batches", json_of(report.batches)},
                         {"why_no_larger", report.why_no_larger},
                         {"noise", noise_of(report)},
                         {"waits_per_step", nlohmann::json::object()},
                         {"advice", advise(report)}};
  for (const StepWait& wait : report.waits.value_or(std::vector<StepWait>())) {
    json["waits_per_step"][wait.operation] = wait.per_step;
  }
  return json.dump();
}

std::string render_json(const LoaderReport& report) {
  nlohmann::json json = json_of(report);
  json["advice"] = advise(report);
  return json.dump();
}

std::string render_json(const BatchSearch& search) {
  return nlohmann::json({{"device", search.device},
                         {"batches", json_of(search.tried)},
                         {"best", search.best},
                         {"why_no_larger", search.why_no_larger}})
      .dump();
}

}  // namespace kedge::cli
