#include "cli/run_metrics.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace kedge::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenFileLooks{500};

}  // namespace

RunMetrics::RunMetrics(track::Run& run, Path file)
    : run_(run),
      file_(std::move(file)),
      metrics_(file_.extension() == ".csv"),
      lines_([this](std::string_view line) { take(line); }),
      next_look_(std::chrono::steady_clock::now()) {
  if (file_.empty()) {
    return;
  }
  offset_ = size_of_file(file_).value_or(0);
  // A program that goes on with a table does not write its names again.
  if (std::ifstream old(file_); old && file_.extension() == ".csv") {
    std::string names;
    std::getline(old, names);
    if (!names.empty()) {
      metrics_.read(names);
    }
  }
}

void RunMetrics::take(std::string_view line) {
  const auto found = metrics_.read(line);
  if (!found) {
    return;
  }
  std::vector<track::Scalar> scalars;
  for (const auto& [name, value] : found->values) {
    scalars.push_back({name, value});
  }
  run_.log(found->step, scalars);
}

void RunMetrics::see(std::string_view line) {
  if (file_.empty()) {
    take(line);
  } else if (std::chrono::steady_clock::now() >= next_look_) {
    read_file_on();
    next_look_ = std::chrono::steady_clock::now() + kBetweenFileLooks;
  }
}

void RunMetrics::finish() {
  if (!file_.empty()) {
    read_file_on();
    lines_.finish();
  }
}

void RunMetrics::read_file_on() {
  if (size_of_file(file_).value_or(0) < offset_) {
    offset_ = 0;  // written anew
    metrics_ = exchange::LineMetrics(file_.extension() == ".csv");
  }
  std::ifstream file(file_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset_));
  std::string bytes(std::size_t{64} << 10U, '\0');
  while (file) {
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    lines_.add(std::string_view(bytes).substr(0, count));
    offset_ += count;
  }
}

}  // namespace kedge::cli
