// The measurements as one page with charts.
#include <algorithm>

#include <fmt/format.h>

#include "cli/bench.h"
#include "core/units.h"

namespace kedge::cli {
namespace {

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

std::string render_speed_bars(const std::string& title, const std::vector<TrainingSpeed>& speeds) {
  std::vector<Bar> bars;
  for (const TrainingSpeed& speed : speeds) {
    bars.push_back(
        {speed.label, speed.samples_per_s,
         speed.problem ? *speed.problem : render_count(speed.samples_per_s) + " samples/s"});
  }
  return render_bars(title, bars);
}

std::string render_memory_bars(const std::vector<TrainingSpeed>& speeds) {
  std::vector<Bar> bars;
  for (const TrainingSpeed& speed : speeds) {
    bars.push_back({speed.label, static_cast<double>(speed.peak_memory_bytes),
                    speed.problem ? *speed.problem : render_bytes({speed.peak_memory_bytes})});
  }
  return render_bars("Memory by batch size", bars);
}

std::string render_storage_bars(const BenchReport& report) {
  const LoaderReport& loader = report.loader;
  if (!loader.storage || loader.speeds.empty()) {
    return "";
  }
  const auto bar = [](const std::string& label, double bytes_per_s) {
    return Bar{label, bytes_per_s, render_bytes({static_cast<std::uint64_t>(bytes_per_s)}) + "/s"};
  };
  return render_bars("Storage", {bar("training needs",
                                     base_of(report) * loader.speeds.back().read_bytes_per_sample),
                                 bar("it gives", loader.storage->bytes_per_s())});
}

}  // namespace

std::string render_html(const BenchReport& report) {
  std::vector<Bar> loader;
  for (const LoaderSpeed& speed : report.loader.speeds) {
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
  html += "</ul>\n" + render_bars("The loader alone", loader) + render_storage_bars(report);
  html += render_speed_bars("Training", report.ways);
  return html + render_speed_bars("Training by batch size", report.batches) +
         render_memory_bars(report.batches);
}

}  // namespace kedge::cli
