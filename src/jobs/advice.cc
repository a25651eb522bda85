#include "jobs/advice.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"

namespace kedge::jobs {
namespace {

// Below this a start (matching, unpacking, transfers) costs more than the work.
constexpr double kShortTask_s = 60;
// What pools of many owners ask for: a longer task is likely to be lost on the way.
constexpr double kLongTask_s = 20 * 3600;
// HTCondor's own transfers; beyond it data comes from a cache (osdf://) or a staging disk.
constexpr std::uint64_t kLargeInput_bytes = 20'000'000'000;
constexpr std::uint64_t kHugeInput_bytes = 500'000'000'000;
constexpr std::uint64_t kLargeMemory_bytes = 100'000'000'000;
// A GPU that is not so many times as fast as cores is not worth its queue.
constexpr double kWorthwhile = 4;

std::int64_t count_of(const JobSpec& spec) {
  return spec.shared > 0 ? spec.shared : spec.task_count();
}

std::string tasks_text(std::int64_t count) {
  return fmt::format("{} task{}", count, count == 1 ? "" : "s");
}

// Why a pool that runs many small things apart is the wrong place; empty: it is not.
std::vector<std::string> obstacles(const JobSpec& spec, const WorkFacts& facts) {
  std::vector<std::string> found;
  if (spec.wants.nodes > 1) {
    found.push_back(fmt::format("a task needs {} machines at once", spec.wants.nodes));
  }
  if (spec.wants.memory.value > kLargeMemory_bytes) {
    found.push_back(fmt::format("few machines have {} of memory", render_bytes(spec.wants.memory)));
  }
  if (facts.input_bytes > kHugeInput_bytes) {
    found.push_back(fmt::format("{} would travel to each task", render_bytes({facts.input_bytes})));
  }
  if (facts.estimate && facts.estimate->task_s > kLongTask_s && !spec.is_resumable()) {
    found.push_back(fmt::format("a task takes {} and cannot go on after an eviction",
                                render_seconds({facts.estimate->task_s})));
  }
  return found;
}

std::string smallest_piece(const JobSpec& spec) {
  if (!spec.is_resumable()) {
    return "a task that is ended begins anew";
  }
  const double every_s = spec.wants.checkpoint_every.value;
  return every_s > 0 ? fmt::format("at most {} of a task is ever lost",
                                   render_seconds(spec.wants.checkpoint_every))
                     : "a task that is ended goes on at its last checkpoint";
}

std::string describe_fit(const JobSpec& spec, const WorkFacts& facts) {
  const std::vector<std::string> against = obstacles(spec, facts);
  if (!against.empty()) {
    return fmt::format("poor for a pool such as HTCondor's: {}; Slurm, or cut it smaller",
                       fmt::join(against, "; "));
  }
  const std::string work =
      fmt::format("{} that need{} nothing of each other; {}", tasks_text(count_of(spec)),
                  count_of(spec) == 1 ? "s" : "", smallest_piece(spec));
  if (!spec.wants.data_may_leave) {
    return fmt::format("good for this site's own pool (the data may not leave): {}", work);
  }
  const bool is_for_all =
      !facts.estimate || facts.estimate->task_s < kLongTask_s || spec.is_resumable();
  return fmt::format("good{}: {}", is_for_all ? " for any pool, the OSPool too" : "", work);
}

std::string describe_needs(const JobSpec& spec) {
  const config::JobConfig& wants = spec.wants;
  std::string text = fmt::format("{} core{}, {} of memory, {} of disk", wants.cpus * wants.ranks,
                                 wants.cpus * wants.ranks == 1 ? "" : "s",
                                 render_bytes(wants.memory), render_bytes(wants.disk));
  if (wants.gpus > 0) {
    text += fmt::format(", {} GPU{}", wants.gpus, wants.gpus == 1 ? "" : "s");
  }
  return text + (wants.nodes > 1 ? fmt::format(", on {} machines", wants.nodes) : " a task");
}

std::string describe_data(const JobSpec& spec, const WorkFacts& facts) {
  const std::string size = facts.input_bytes > 0
                               ? fmt::format("{} for each task", render_bytes({facts.input_bytes}))
                               : "none that is named (job.inputs, data.path)";
  const std::string where = spec.wants.data_may_leave
                                ? "may leave this site (job.data_may_leave=false keeps it)"
                                : "stays at this site";
  const bool is_large = facts.input_bytes > kLargeInput_bytes;
  return fmt::format("{}; {}{}", size, where,
                     is_large ? "; too large to be sent each time: osdf:// or a staging disk" : "");
}

std::string describe_gpus(const JobSpec& spec, const GpuNeed& need, const WorkFacts& facts) {
  const std::size_t known = gpus_that_fit(need).size();
  std::string text =
      fmt::format("{} of the {} models that kedge knows would do", known, gpu_catalogue().size());
  if (!facts.site) {
    return text;
  }
  std::map<std::string, std::int64_t> fit;
  std::map<std::string, std::int64_t> unfit;
  for (const SiteMachine& machine : facts.site->machines) {
    if (machine.gpus > 0) {
      const std::string name = machine.gpu_name.empty() ? "of unknown kind" : machine.gpu_name;
      (tasks_on(machine, spec, need) > 0 ? fit : unfit)[name] += machine.gpus;
    }
  }
  const auto list = [](const std::map<std::string, std::int64_t>& gpus) {
    std::vector<std::string> parts;
    for (const auto& [name, count] : gpus) {
      parts.push_back(fmt::format("{} {}", count, name));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  text += fit.empty() ? "; the site has none for this job" : "; here: " + list(fit);
  return text + (unfit.empty() ? "" : "; not these: " + list(unfit));
}

struct AtOnce {
  std::int64_t tasks = 0;  // 0: nobody knows
  std::string why;
};

AtOnce count_at_once(const JobSpec& spec, const GpuNeed& need, const WorkFacts& facts) {
  AtOnce most;
  const auto limit = [&](std::int64_t tasks, const std::string& why) {
    if (tasks > 0 && (most.tasks == 0 || tasks < most.tasks)) {
      most = {.tasks = tasks, .why = why};
    }
  };
  if (facts.site) {
    std::int64_t places = 0;
    for (const SiteMachine& machine : facts.site->machines) {
      places += tasks_on(machine, spec, need);
    }
    limit(places / spec.wants.nodes, "as many as the site has room for");
    limit(facts.site->tasks_per_user.value_or(0), "the limit of one user");
  }
  limit(spec.wants.at_once, "job.at_once");
  return most;
}

std::string describe_time(const JobSpec& spec, const GpuNeed& need, const WorkFacts& facts) {
  const double task_s = facts.estimate->task_s;
  std::string text =
      fmt::format("a task takes about {} ({})", render_seconds({task_s}), facts.estimate->from);
  const std::int64_t count = spec.task_count();
  if (count == 1) {
    return text;
  }
  const AtOnce at_once = count_at_once(spec, need, facts);
  if (at_once.tasks == 0) {
    return text + fmt::format("; {} are {} of work", tasks_text(count),
                              render_seconds({task_s * static_cast<double>(count)}));
  }
  const double rounds = std::ceil(static_cast<double>(count) / static_cast<double>(at_once.tasks));
  return text + fmt::format("; {}, {} at a time ({}), are done in about {} once they run",
                            tasks_text(count), std::min(at_once.tasks, count), at_once.why,
                            render_seconds({task_s * rounds}));
}

// The best of each kind.
std::string describe_speeds(const std::vector<MeasuredSpeed>& speeds) {
  const MeasuredSpeed* cpu = nullptr;
  const MeasuredSpeed* gpu = nullptr;
  for (const MeasuredSpeed& speed : speeds) {
    const MeasuredSpeed*& best = speed.is_gpu ? gpu : cpu;
    best = best == nullptr || speed.samples_per_s > best->samples_per_s ? &speed : best;
  }
  const auto text = [](const MeasuredSpeed& speed) {
    return fmt::format("{} samples/s on {}", render_count(speed.samples_per_s), speed.device);
  };
  if (cpu == nullptr || gpu == nullptr) {
    return text(cpu == nullptr ? *gpu : *cpu) +
           fmt::format("; nothing is known of a {}", cpu == nullptr ? "CPU" : "GPU");
  }
  const double ratio = gpu->samples_per_s / cpu->samples_per_s;
  return fmt::format("{}, {}: {:.1f} times; {}", text(*gpu), text(*cpu), ratio,
                     ratio >= kWorthwhile ? "a GPU is worth its queue"
                                          : "many CPU slots give more than few GPUs (job.gpus=0)");
}

}  // namespace

std::optional<std::string> find_time_trouble(const JobSpec& spec) {
  const double limit_s = spec.wants.time.value;
  if (spec.estimate_s <= limit_s || limit_s == 0) {
    return std::nullopt;
  }
  const std::string beginning =
      fmt::format("job.time is {}, and a task takes about {}", render_seconds(spec.wants.time),
                  render_seconds({spec.estimate_s}));
  if (spec.is_resumable()) {
    return fmt::format("{}: it saves at the limit and goes on, in about {:.0f} starts", beginning,
                       std::ceil(spec.estimate_s / limit_s));
  }
  constexpr double kRoom = 1.5;
  return fmt::format("{}: it would be ended before it is done; job.time={:.0f}m", beginning,
                     std::ceil(spec.estimate_s * kRoom / 60));
}

Result<std::vector<Advice>> advise(const JobSpec& spec, const Launcher& launcher,
                                   const WorkFacts& facts) {
  const GpuNeed need = KEDGE_TRY(gpu_need(spec));
  std::vector<Advice> lines = {{"fit", describe_fit(spec, facts)},
                               {"needs", describe_needs(spec)},
                               {"data", describe_data(spec, facts)}};
  if (spec.wants.gpus > 0) {
    lines.push_back({"gpus", describe_gpus(spec, need, facts)});
  }
  if (!facts.speeds.empty()) {
    lines.push_back({"speed", describe_speeds(facts.speeds)});
  }
  if (!facts.estimate) {
    lines.push_back({"time",
                     "nothing is known: no finished run or job like this; --probe measures "
                     "a config"});
    return lines;
  }
  lines.push_back({"time", describe_time(spec, need, facts)});
  if (auto queue = launcher.advise_on_queue(spec, facts.estimate->task_s); !queue.empty()) {
    lines.push_back({"queue", std::move(queue)});
  }
  if (facts.estimate->task_s < kShortTask_s && spec.task_count() > 1) {
    lines.push_back({"size", fmt::format("tasks of {} cost more to start than to run: put several "
                                         "into one{}",
                                         render_seconds({facts.estimate->task_s}),
                                         spec.wants.gpus > 0 ? " (--per-gpu)" : "")});
  }
  if (const auto trouble = find_time_trouble(spec)) {
    lines.push_back({"limit", *trouble});
  }
  return lines;
}

}  // namespace kedge::jobs
