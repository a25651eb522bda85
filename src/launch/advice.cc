#include "launch/advice.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kedge::launch {
namespace {

constexpr double kDay_s = 86400;

std::int64_t divided(std::int64_t amount, std::int64_t by) {
  return (amount + by - 1) / by;
}

// Tasks of one job, so that it is neither shorter than kJobAtLeast_s nor the whole work.
std::int64_t tasks_together(const Work& work, double task_s) {
  const auto wanted = static_cast<std::int64_t>(std::ceil(kJobAtLeast_s / std::max(task_s, 1e-3)));
  return std::clamp<std::int64_t>(wanted, 1, work.tasks);
}

Route make_route(const Work& work, double task_s) {
  Route route;
  route.tasks_per_job = tasks_together(work, task_s);
  route.jobs = divided(work.tasks, route.tasks_per_job);
  route.job_s = task_s * static_cast<double>(route.tasks_per_job);
  return route;
}

void add_wall_time(Route& route) {
  route.at_once = std::min(route.at_once, route.jobs);
  const std::int64_t rounds = route.at_once > 0 ? divided(route.jobs, route.at_once) : 0;
  route.wall_s = static_cast<double>(rounds) * route.job_s;
}

// A resumable task stops before a class's limit and goes on, so it may always be short.
std::optional<JobLengthClass> class_of(const Work& work, double job_s) {
  const auto fitting = choose_job_length(job_s);
  return fitting || !work.is_resumable ? fitting : std::optional(job_length_classes().front());
}

Route gpu_route(const Work& work, std::int64_t shared_gpus) {
  Route route = make_route(work, *work.gpu_s);
  route.device = "gpu";
  route.compute_s = *work.gpu_s * static_cast<double>(work.tasks * work.gpus);
  const auto length = class_of(work, route.job_s);
  if (!length) {
    return route;
  }
  route.length = length->name;
  const std::int64_t gpus =
      length->gpu_count > 0
          ? length->gpu_count
          : static_cast<std::int64_t>(length->gpu_share * static_cast<double>(shared_gpus));
  route.at_once = gpus / std::max<std::int64_t>(work.gpus, 1);
  add_wall_time(route);
  return route;
}

Route cpu_route(const Work& work, std::int64_t cores) {
  Route route = make_route(work, *work.cpu_s);
  route.device = "cpu";
  route.compute_s = *work.cpu_s * static_cast<double>(work.tasks);
  route.at_once = cores;
  add_wall_time(route);
  return route;
}

void judge(Advice& advice, const Work& work) {
  const auto poor = [&](std::string reason) {
    advice.fit = Fit::Poor;
    advice.reasons.push_back(std::move(reason));
  };
  if (work.machines > 1) {
    poor(fmt::format("one task needs {} machines at once: that is work for Slurm", work.machines));
  }
  const double task_s = work.gpu_s.value_or(work.cpu_s.value_or(0));
  if (task_s > kDay_s && !work.is_resumable) {
    poor(fmt::format("one task takes {} and cannot go on where it stopped: save checkpoints first",
                     render_seconds({task_s})));
  }
  constexpr std::uint64_t kLargest_bytes = 100'000'000'000;
  if (work.input.value + work.shared.value > kLargest_bytes) {
    poor(fmt::format("each job would need {} to be sent to it",
                     render_bytes({work.input.value + work.shared.value})));
  }
  if (work.tasks == 1 && work.machines == 1 && advice.fit == Fit::Good) {
    advice.reasons.emplace_back("there is one task: nothing is gained by many machines");
  }
  if (!work.data_may_leave) {
    if (advice.fit == Fit::Good) {
      advice.fit = Fit::HereOnly;
    }
    advice.reasons.emplace_back(
        "the data may not leave: this site's pool alone (job.data_may_leave=false)");
  }
}

void add_transfer_hints(Advice& advice, const Work& work) {
  // As CHTC's guide draws the line for files sent by HTCondor itself.
  constexpr std::uint64_t kPlain_bytes = 1'000'000'000;
  if (work.input.value + work.shared.value > kPlain_bytes) {
    advice.reasons.push_back(fmt::format(
        "{} for each job is too much for plain transfer: give osdf:// or file:///staging/ "
        "addresses as job.inputs, or put it in the container",
        render_bytes({work.input.value + work.shared.value})));
  }
  const double task_s = work.gpu_s.value_or(work.cpu_s.value_or(0));
  if (task_s > 0 && task_s < kJobAtLeast_s && work.tasks > 1) {
    advice.reasons.push_back(
        fmt::format("a task of {} is shorter than a job should be: put many together",
                    render_seconds({task_s})));
  }
}

}  // namespace

Advice advise(const Work& work, const Allowance& allowance) {
  Advice advice;
  const auto tasks = static_cast<std::uint64_t>(work.tasks);
  advice.total_input = {work.input.value * tasks};
  advice.total_output = {work.output.value * tasks};
  judge(advice, work);
  add_transfer_hints(advice, work);
  if (work.gpu_s) {
    advice.routes.push_back(gpu_route(work, allowance.gpus));
  }
  if (work.cpu_s) {
    advice.routes.push_back(cpu_route(work, allowance.cores));
  }
  std::ranges::stable_sort(advice.routes, {}, [](const Route& route) {
    return route.wall_s > 0 ? route.wall_s : HUGE_VAL;
  });
  return advice;
}

std::optional<std::string> limit_warning(double estimate_s, double limit_s, bool is_resumable) {
  if (estimate_s <= limit_s || limit_s <= 0) {
    return std::nullopt;
  }
  const std::string facts =
      fmt::format("it will take about {}, and job.time is {}",
                  render_seconds({std::round(estimate_s)}), render_seconds({limit_s}));
  if (!is_resumable) {
    return facts + ": it would be ended before its end";
  }
  const auto starts = static_cast<std::int64_t>(std::ceil(estimate_s / limit_s));
  return fmt::format("{}: it will save, stop and be started {} times", facts, starts);
}

}  // namespace kedge::launch
