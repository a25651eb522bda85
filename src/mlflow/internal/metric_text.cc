#include "mlflow/internal/metric_text.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "server/api.h"

namespace kedge::mlflow {

void append_value(std::string& out, double value) {
  constexpr double kMost = std::numeric_limits<double>::max();
  if (std::isnan(value)) {
    out += "\"NaN\"";
    return;
  }
  server::append_number(out, std::clamp(value, -kMost, kMost));
}

void append_metric(std::string& out, const MetricPoint& point) {
  out += "{\"key\":";
  server::append_text(out, point.key);
  out += ",\"value\":";
  append_value(out, point.value);
  fmt::format_to(std::back_inserter(out), ",\"timestamp\":{},\"step\":{}", point.time_us / 1000,
                 point.step);
}

}  // namespace kedge::mlflow
