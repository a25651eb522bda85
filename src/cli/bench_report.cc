#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/shared/text_table.h"
#include "core/units.h"

namespace kedge::cli {
namespace {

// What training takes as it is configured: the faster of the two measurements.
double base_of(const BenchReport& report) {
  return std::max(report.ways.front().samples_per_s, report.ways.back().samples_per_s);
}

// Differences below this factor are the machine's noise.
double worth_saying(const BenchReport& report) {
  const double slower =
      std::min(report.ways.front().samples_per_s, report.ways.back().samples_per_s);
  return std::max(1.1, base_of(report) / std::max(slower, 1e-9));
}

const TrainingSpeed* fastest(const std::vector<TrainingSpeed>& speeds) {
  const TrainingSpeed* best = nullptr;
  for (const TrainingSpeed& speed : speeds) {
    if (!speed.problem && (best == nullptr || speed.samples_per_s > best->samples_per_s)) {
      best = &speed;
    }
  }
  return best;
}

std::string change_of(const TrainingSpeed& speed) {
  return speed.keys.empty() ? "" : speed.keys.front();
}

void advise_on_loader(const BenchReport& report, std::vector<std::string>& advice) {
  const double needed = base_of(report);
  const auto best = std::ranges::max_element(report.loader, {}, &LoaderSpeed::samples_per_s);
  if (best == report.loader.end()) {
    return;
  }
  if (best->samples_per_s < 1.1 * needed) {
    advice.push_back(fmt::format(
        "the loader is the limit: {} samples/s at best, training uses {}. Smaller images, fewer "
        "transforms, a faster disk, or images decoded once (`resize` first) help",
        render_count(best->samples_per_s), render_count(needed)));
  }
  const auto enough = std::ranges::find_if(
      report.loader, [&](const LoaderSpeed& speed) { return speed.samples_per_s >= 1.5 * needed; });
  if (enough != report.loader.end()) {
    advice.push_back(fmt::format("loader.workers={} gives {:.1f} times what training takes",
                                 enough->workers, enough->samples_per_s / std::max(needed, 1e-9)));
  }
}

std::vector<std::string> row_of(const TrainingSpeed& speed, double base) {
  if (speed.problem) {
    return {speed.label, *speed.problem, "", ""};
  }
  return {speed.label, render_count(speed.samples_per_s),
          fmt::format("{:.2f}x", speed.samples_per_s / std::max(base, 1e-9)),
          render_bytes({speed.peak_memory_bytes})};
}

nlohmann::json json_of(const TrainingSpeed& speed) {
  nlohmann::json json = {{"label", speed.label}, {"keys", speed.keys}};
  if (speed.problem) {
    json["problem"] = *speed.problem;
  } else {
    json["samples_per_s"] = speed.samples_per_s;
    json["peak_memory_bytes"] = speed.peak_memory_bytes;
  }
  return json;
}

struct Bar {
  std::string label;
  double value = 0;
  std::string text;
};

std::string escape_html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

std::string render_bars(const std::string& title, const std::vector<Bar>& bars) {
  constexpr int kRow = 26;
  constexpr int kLabel = 190;
  constexpr int kWidth = 460;
  double most = 1e-9;
  for (const Bar& bar : bars) {
    most = std::max(most, bar.value);
  }
  std::string svg = fmt::format("<h2>{}</h2>\n<svg width=\"860\" height=\"{}\">\n",
                                escape_html(title), kRow * bars.size());
  int y = 0;
  for (const Bar& bar : bars) {
    svg += fmt::format(
        "<text x=\"0\" y=\"{}\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{:.0f}\" "
        "height=\"16\"/><text x=\"{:.0f}\" y=\"{}\">{}</text>\n",
        y + 17, escape_html(bar.label), kLabel, y + 4, kWidth * bar.value / most,
        kLabel + kWidth * bar.value / most + 8, y + 17, escape_html(bar.text));
    y += kRow;
  }
  return svg + "</svg>\n";
}

std::vector<Bar> bars_of(const std::vector<TrainingSpeed>& speeds) {
  std::vector<Bar> bars;
  for (const TrainingSpeed& speed : speeds) {
    bars.push_back({speed.label, speed.samples_per_s,
                    speed.problem
                        ? *speed.problem
                        : fmt::format("{} samples/s, {}", render_count(speed.samples_per_s),
                                      render_bytes({speed.peak_memory_bytes}))});
  }
  return bars;
}

}  // namespace

std::vector<std::string> advise(const BenchReport& report) {
  std::vector<std::string> advice;
  const double base = base_of(report);
  const TrainingSpeed* way = fastest(report.ways);
  if (way != nullptr && way->samples_per_s > worth_saying(report) * base) {
    advice.push_back(
        fmt::format("{} is {:.1f} times as fast", change_of(*way), way->samples_per_s / base));
  }
  const TrainingSpeed* batch = fastest(report.batches);
  if (batch != nullptr && batch->samples_per_s > worth_saying(report) * base) {
    advice.push_back(
        fmt::format("{} is {:.1f} times as fast; the learning rate may have to "
                    "follow it",
                    change_of(*batch), batch->samples_per_s / base));
  }
  advise_on_loader(report, advice);
  if (!report.batches.empty() && report.batches.back().problem) {
    advice.push_back(fmt::format("{}: {}. train.accumulate gives the same step in smaller parts",
                                 report.batches.back().label, *report.batches.back().problem));
  }
  return advice;
}

std::string render_text(const BenchReport& report) {
  const double base = base_of(report);
  std::string text = fmt::format("device   {}\n\n", report.device);
  std::vector<std::vector<std::string>> rows = {{"loader workers", "samples/s", "decoded"}};
  for (const LoaderSpeed& speed : report.loader) {
    rows.push_back({std::to_string(speed.workers), render_count(speed.samples_per_s),
                    render_bytes({static_cast<std::uint64_t>(speed.bytes_per_s)}) + "/s"});
  }
  text += render_table(rows) + "\n";
  for (const auto* speeds : {&report.ways, &report.batches}) {
    rows = {{speeds == &report.ways ? "training" : "batch size", "samples/s", "", "peak memory"}};
    for (const TrainingSpeed& speed : *speeds) {
      rows.push_back(row_of(speed, base));
    }
    text += render_table(rows) + "\n";
  }
  if (const double noise = worth_saying(report); noise > 1.2) {
    text += fmt::format(
        "noise    the same config measured twice differs by a factor of {:.1f}: "
        "smaller differences mean nothing\n",
        noise);
  }
  for (const std::string& line : advise(report)) {
    text += "advice   " + line + "\n";
  }
  return text;
}

std::string render_json(const BenchReport& report) {
  nlohmann::json json = {{"device", report.device},
                         {"loader", nlohmann::json::array()},
                         {"ways", nlohmann::json::array()},
                         {"batches", nlohmann::json::array()},
                         {"advice", advise(report)}};
  for (const LoaderSpeed& speed : report.loader) {
    json["loader"].push_back({{"workers", speed.workers},
                              {"samples_per_s", speed.samples_per_s},
                              {"bytes_per_s", speed.bytes_per_s}});
  }
  for (const TrainingSpeed& speed : report.ways) {
    json["ways"].push_back(json_of(speed));
  }
  for (const TrainingSpeed& speed : report.batches) {
    json["batches"].push_back(json_of(speed));
  }
  return json.dump();
}

std::string render_html(const BenchReport& report) {
  std::vector<Bar> loader;
  for (const LoaderSpeed& speed : report.loader) {
    loader.push_back({fmt::format("{} workers", speed.workers), speed.samples_per_s,
                      render_count(speed.samples_per_s) + " samples/s"});
  }
  std::string html =
      "<!doctype html><meta charset=\"utf-8\"><title>kedge bench</title>\n"
      "<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem;max-width:60rem}"
      "svg{font-size:13px}rect{fill:#3b6fb6}"
      "@media(prefers-color-scheme:dark){body{background:#16181d;color:#e6e6e6}"
      "svg text{fill:#e6e6e6}rect{fill:#6ea0e6}}</style>\n";
  html += fmt::format("<h1>kedge bench</h1>\n<p>{}</p>\n<ul>\n", escape_html(report.device));
  for (const std::string& line : advise(report)) {
    html += fmt::format("<li>{}</li>\n", escape_html(line));
  }
  html += "</ul>\n" + render_bars("The loader alone", loader);
  html += render_bars("Training", bars_of(report.ways));
  return html + render_bars("Training by batch size", bars_of(report.batches));
}

}  // namespace kedge::cli
