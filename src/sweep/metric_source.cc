#include "sweep/metric_source.h"

#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "exchange/csv_reader.h"
#include "sweep/internal/wandb_file.h"
#include "track/history.h"

namespace kedge::sweep {
namespace {

void read_run_log(const MetricPlaces& places, const std::string& metric, Reports& reports) {
  if (places.run.empty()) {
    return;
  }
  const auto history = track::read_history(places.run, {.key = {}, .with_replaced = false});
  if (!history) {
    return;
  }
  for (const auto& [name, curve] : history->curves) {
    reports.names.insert(name);
    if (name == metric) {
      for (const track::Point& point : curve.points) {
        reports.values.push_back(point.value);
      }
    }
  }
}

void each_folder(const Path& folder, const std::function<void(const Path&)>& visit) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->is_directory(error) && !entry->is_symlink(error)) {
      visit(entry->path());
    }
  }
}

// wandb/offline-run-*/run-*.wandb: what the program logged, step by step.
void read_wandb(const MetricPlaces& places, const std::string& metric, Reports& reports) {
  each_folder(places.trial / "wandb", [&](const Path& run) {
    std::error_code error;
    std::filesystem::directory_iterator entry(run, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() != ".wandb") {
        continue;
      }
      read_wandb_history(entry->path(), [&](const std::string& name, double value) {
        reports.names.insert(name);
        if (name == metric) {
          reports.values.push_back(value);
        }
      });
    }
  });
}

// mlruns/<experiment>/<run>/metrics/<name>: "time value step" lines.
void read_mlflow(const MetricPlaces& places, const std::string& metric, Reports& reports) {
  each_folder(places.trial / "mlruns", [&](const Path& experiment) {
    each_folder(experiment, [&](const Path& run) {
      std::error_code error;
      std::filesystem::recursive_directory_iterator entry(run / "metrics", error);
      for (; !error && entry != std::filesystem::recursive_directory_iterator();
           entry.increment(error)) {
        if (!entry->is_regular_file(error)) {
          continue;
        }
        const std::string name = entry->path().lexically_relative(run / "metrics").string();
        reports.names.insert(name);
        if (name != metric) {
          continue;
        }
        std::istringstream lines(read_file(entry->path()).value_or(""));
        std::string line;
        while (std::getline(lines, line)) {
          std::istringstream words(line);
          std::string time;
          std::string value;
          if (words >> time >> value) {
            reports.values.push_back(std::strtod(value.c_str(), nullptr));
          }
        }
      }
    });
  });
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? std::optional(value)
                                                                             : std::nullopt;
}

void read_csv(const MetricPlaces& places, const std::string& metric, Reports& reports) {
  const auto text =
      places.run.empty() ? std::string() : read_file(places.run / "metrics.csv").value_or("");
  exchange::CsvReader reader(text);
  const auto header = reader.next();
  if (!header || !*header) {
    return;
  }
  std::optional<std::size_t> column;
  for (std::size_t i = 0; i < (*header)->size(); ++i) {
    reports.names.insert((**header)[i].text);
    if ((**header)[i].text == metric) {
      column = i;
    }
  }
  while (column) {
    const auto row = reader.next();
    if (!row || !*row) {
      return;
    }
    if (*column < (*row)->size()) {
      if (const auto value = parse_number((**row)[*column].text)) {
        reports.values.push_back(*value);
      }
    }
  }
}

void read_output(const MetricPlaces& places, const std::string& metric, Reports& reports) {
  reports.values = scan_output(read_file(places.trial / "output.log").value_or(""), metric);
}

}  // namespace

std::vector<double> scan_output(const std::string& text, const std::string& name) {
  std::vector<double> values;
  if (name.empty()) {
    return values;
  }
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    // "loss" is not the end of "val_loss" or "Val Loss".
    if (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 ||
                   std::string_view("_/.-").find(text[at - 1]) != std::string_view::npos)) {
      continue;
    }
    std::size_t next = text.find_first_not_of(' ', at + name.size());
    if (next == std::string::npos || (text[next] != '=' && text[next] != ':')) {
      continue;
    }
    next = text.find_first_not_of(' ', next + 1);
    if (next == std::string::npos) {
      continue;
    }
    double value = 0;
    const auto parsed = std::from_chars(text.data() + next, text.data() + text.size(), value);
    if (parsed.ec == std::errc{}) {
      values.push_back(value);
    }
  }
  return values;
}

Reports read_reports(const MetricPlaces& places, const std::string& metric) {
  using Reader = void (*)(const MetricPlaces&, const std::string&, Reports&);
  constexpr std::pair<const char*, Reader> kSources[] = {{"run log", read_run_log},
                                                         {"wandb", read_wandb},
                                                         {"mlflow", read_mlflow},
                                                         {"metrics.csv", read_csv},
                                                         {"output", read_output}};
  Reports reports;
  for (const auto& [source, read] : kSources) {
    read(places, metric, reports);
    if (!reports.values.empty()) {
      reports.source = source;
      break;
    }
  }
  return reports;
}

}  // namespace kedge::sweep
