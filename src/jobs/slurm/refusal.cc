#include "jobs/slurm/refusal.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::jobs::slurm {
namespace {

struct Known {
  std::string_view text;  // in what Slurm prints
  std::string_view hint;
};

constexpr auto kAway = std::to_array<std::string_view>(
    {"Unable to contact slurm controller", "Socket timed out", "Connection refused",
     "Zero Bytes were transmitted", "backup controller in standby", "Connection timed out",
     "Unable to establish", "Could not establish a configuration source",
     "Unexpected message received"});

constexpr auto kKnown = std::to_array<Known>({
    {"invalid partition", "`sinfo -s` lists the partitions; job.queue names one"},
    {"Invalid account", "`sacctmgr show user $USER withassoc` lists yours; job.account names one"},
    {"Invalid qos", "`sacctmgr show assoc user=$USER format=qos` lists yours; job.qos names one"},
    {"node configuration is not available",
     "no node has that many cores, GPUs or that much memory: `sinfo -N -o \"%N %c %m %G %f\"` "
     "shows what nodes have"},
    {"Memory specification can not be satisfied",
     "no node has that much memory: `sinfo -N -o \"%N %m\"` shows it; job.memory asks for it"},
    {"Invalid generic resource", "`sinfo -o \"%N %G\"` shows which GPUs there are; job.gpus asks"},
    {"time limit is invalid", "`sinfo -o \"%P %l\"` shows the partitions' limits; job.time asks"},
    {"Invalid feature", "`sinfo -o \"%N %f\"` lists the features; job.constraint names some"},
    {"reservation is invalid", "`scontrol show reservation` lists them"},
    {"Invalid job array specification",
     "the site limits arrays: `scontrol show config | grep MaxArraySize`"},
    {"job submit limit", "the site limits how many jobs you may have; wait, or make fewer tasks"},
    {"Invalid job credential", "munge does not answer on this machine: ask who runs it"},
});

// Without the program's name before each line, and each line once.
std::string without_prefixes(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::vector<std::string> kept;
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view word : {": error: ", ": fatal: "}) {
      if (const std::size_t at = line.find(word); at != std::string::npos && at < 12) {
        line.erase(0, at + word.size());
      }
    }
    constexpr std::string_view kBatch = "Batch job submission failed: ";
    if (line.starts_with(kBatch)) {
      line.erase(0, kBatch.size());
    }
    if (!line.empty() && std::ranges::find(kept, line) == kept.end()) {
      kept.push_back(line);
    }
  }
  std::string joined;
  for (const std::string& line : kept) {
    joined += (joined.empty() ? "" : "; ") + line;
  }
  return joined;
}

}  // namespace

std::string away_pattern() {
  return fmt::format("{}", fmt::join(kAway, "|"));
}

Error explain_refusal(std::string_view program, const ProcessResult& answer) {
  const std::string said = without_prefixes(answer.errors);
  const auto has = [&](std::string_view text) {
    return answer.errors.find(text) != std::string::npos;
  };
  if (std::ranges::any_of(kAway, has)) {
    return {ErrorKind::Unavailable, fmt::format("Slurm does not answer: {}", said)};
  }
  const auto known = std::ranges::find_if(kKnown, [&](const Known& k) { return has(k.text); });
  return {ErrorKind::Usage,
          fmt::format("{} refused: {}", program,
                      said.empty() ? fmt::format("exit code {}", answer.exit_code) : said),
          known == kKnown.end() ? "" : std::string(known->hint)};
}

}  // namespace kedge::jobs::slurm
