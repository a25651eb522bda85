#include "train/run_training.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include "config/interval.h"
#include "config/render.h"
#include "core/log.h"
#include "core/signals.h"
#include "core/units.h"
#include "device/device.h"
#include "device/plugin.h"
#include "ranks/rank_board.h"
#include "ranks/rank_notes.h"
#include "ranks/rank_place.h"
#include "ranks/rank_supervisor.h"
#include "train/internal/announce.h"
#include "train/internal/checkpoints.h"
#include "train/internal/loop.h"
#include "train/internal/ranks.h"
#include "train/internal/replicas.h"
#include "train/internal/resumption.h"
#include "train/internal/session.h"
#include "train/internal/setup.h"
#include "train/internal/simulated_crash.h"
#include "train/internal/step.h"
#include "train/internal/stop_rule.h"
#include "train/internal/waits.h"
#include "train/plugins.h"
#include "train/torch_guard.h"

namespace kedge::train {
namespace {

Horizon horizon_of(const config::Config& config, const data::Loader& loader) {
  const std::int64_t per_epoch =
      (loader.batches_per_epoch() + config.train.accumulate - 1) / config.train.accumulate;
  Horizon horizon{.steps = per_epoch * config.train.epochs, .epochs = config.train.epochs};
  if (config.train.max_steps > 0) {
    horizon.steps = std::min(horizon.steps, config.train.max_steps);
  }
  return horizon;
}

track::WhichCheckpoints which_checkpoints(config::SentCheckpoints choice) {
  switch (choice) {
    case config::SentCheckpoints::Best:
      return track::WhichCheckpoints::Best;
    case config::SentCheckpoints::All:
      return track::WhichCheckpoints::All;
    case config::SentCheckpoints::None:
      break;
  }
  return track::WhichCheckpoints::None;
}

track::RunStart run_start(const config::LoadedConfig& config, const Setup& setup,
                          const std::string& sample, const TrainingOptions& options) {
  nlohmann::json environment = track::collect_environment(options.argc, options.argv);
  environment["device"] = device::device_facts(setup.context->device);
  environment["libtorch"] = TORCH_VERSION;
  const config::RunConfig& run = config->run;
  return {.dir = config->track.dir,
          .project = run.project,
          .name = run.name,
          .id = run.id,
          .tags = run.tags,
          .notes = run.notes,
          .group = run.group,
          .job_type = run.job_type,
          .config_file_text = config.file_text,
          .effective_config_text = config::render_effective(config),
          .config_hash = config.hash(),
          .data_digest = setup.data.digest,
          .sample_text = sample,
          .environment = std::move(environment),
          .csv = config->track.csv,
          .system_every_s = config->track.system_every.value,
          .server = config->track.server,
          .token_file = config->track.token_file,
          .server_wait_s = config->track.server_wait.value,
          .checkpoints = which_checkpoints(config->track.checkpoints)};
}

// Of the run that is gone on with, and of this process.
struct Start {
  std::optional<Resumption> resumption;
  const StopSignals& signals;
  StopRule::Clock::time_point time;
  const TrainingOptions& options;
};

Result<std::unique_ptr<track::Run>> open_run(const config::LoadedConfig& config, const Setup& setup,
                                             Start& start) {
  const std::string sample = KEDGE_TRY(render_first_sample(*config, setup));
  const track::RunStart facts = run_start(config, setup, sample, start.options);
  if (!start.resumption) {
    return track::Run::create(facts);
  }
  Resumption& resumption = *start.resumption;
  track::ResumePoint point{.changes = resumption.changes};
  if (resumption.newest.checkpoint) {
    const nlohmann::json& state = resumption.newest.checkpoint->state();
    if (state.value("data_digest", "") != setup.data.digest) {
      return fail(ErrorKind::Usage,
                  fmt::format("the data has changed since the run was saved (digest {}, now {}): "
                              "what was held out could be trained on",
                              state.value("data_digest", ""), setup.data.digest),
                  "bring the data back, or start a new run with resume=never");
    }
    point.step = resumption.newest.entry.step;
    point.epoch = resumption.newest.entry.epoch;
  }
  return track::Run::resume(facts, std::move(resumption.attempt), point);
}

void say_start(Reporter& reporter, const config::LoadedConfig& config, const Setup& setup,
               const track::Run& run, const StopRule& stop) {
  for (const std::string& note : config.notes) {
    reporter.say(note);
  }
  for (const config::UnreadKey& key : find_unread_keys(config)) {
    reporter.say(key.message);
  }
  say_facts(reporter, *config, setup, run);
  if (const std::string ranks = describe_ranks(*config, *setup.group); !ranks.empty()) {
    reporter.say("ranks    " + ranks);
  }
  if (!stop.limit_text().empty()) {
    reporter.say("limit    " + stop.limit_text());
  }
}

// A collective: every rank has the state that the run goes on with, or that it begins with. Returns
// the step of the checkpoint on the disk; -1: there is none.
Result<std::int64_t> take_up_state(Session& session, Reporter& reporter, const track::Run& run,
                                   const Start& start) {
  const checkpoint::Checkpoint* saved = nullptr;
  if (start.resumption) {
    say_resumption(reporter, *start.resumption, run);
    const auto& newest = start.resumption->newest.checkpoint;
    saved = newest ? &*newest : nullptr;
  }
  if (saved != nullptr) {
    KEDGE_TRY(session.restore(*saved, start.options.dropped));
    if (!start.options.restored_copy.empty()) {
      KEDGE_TRY(session.write(start.options.restored_copy));
    }
  }
  KEDGE_TRY(session.broadcast_state(saved));
  return saved != nullptr ? start.resumption->on_disk.step : -1;
}

Result<std::unique_ptr<Checkpoints>> make_checkpoints(const config::Config& config,
                                                      const Setup& setup, track::Run& run,
                                                      Reporter& reporter, Session& session,
                                                      std::int64_t durable_step) {
  std::vector<track::AttemptFacts> attempts = track::list_attempts(run.path());
  if (!attempts.empty()) {
    attempts.pop_back();  // this one
  }
  return Checkpoints::make({.config = config,
                            .device = setup.context->device,
                            .run = run,
                            .reporter = reporter,
                            .failures = observed_failures(attempts),
                            .durable_step = durable_step,
                            .more_is_better = session.is_more_better(),
                            .size_bytes = session.state_bytes(),
                            .frozen = nn::frozen_names(*setup.model),
                            .group = *setup.group});
}

// A collective.
void finish_run(const TrainSummary& summary, const Setup& setup, Reporter& reporter,
                track::Run& run, const Waits* waits) {
  const std::uint64_t peak_bytes = device::peak_memory_bytes(setup.context->device);
  const RankTimes times = gather_times(*setup.group);
  say_summary(reporter, summary, peak_bytes, run);
  nlohmann::json facts = summary_json(summary, peak_bytes);
  facts["ranks"] = setup.group->size();
  facts["data_share"] = times.data_fraction;
  facts["exchange_share"] = times.collective_fraction;
  if (!setup.group->is_alone()) {
    reporter.say(
        fmt::format("ranks    {:.0f}% of the time waiting for each other, {:.0f}% for "
                    "data{}{}",
                    times.collective_fraction * 100, times.data_fraction * 100,
                    times.stragglers.empty() ? "" : "; ", times.stragglers));
  }
  if (waits != nullptr) {
    for (const std::string& line : waits->describe()) {
      reporter.say("waits    " + line);
    }
    facts["waits_per_step"] = waits->per_watch();
  }
  run.finish(track::RunState::Finished, facts);
}

Result<void> train_in_run(const config::LoadedConfig& config, Setup& setup, track::Run& run,
                          const Start& start) {
  const TrainingOptions& options = start.options;
  const auto reporter = KEDGE_TRY(Reporter::make(run, config->track.log_file));
  const ScaledRate scaled = scale_rate(*config, setup.strategy->data_group().size());
  LearningRate learning_rate = KEDGE_TRY(
      LearningRate::make(scaled.schedule, scaled.peak, horizon_of(*config, *setup.train_loader)));
  StopRule stop(*config, start.signals,
                options.find_time_limit ? options.find_time_limit() : std::nullopt, start.time);
  stop.stop_after(options.stop_after_step);
  const SimulatedCrash crash(KEDGE_TRY(config::parse_crash(config->train.simulate_crash)), run.id(),
                             run.attempt());
  say_start(*reporter, config, setup, run, stop);

  device::Plugin* const capture_with =
      setup.context->device.is_cuda() ? device::plugin() : options.host_plugin;
  Waits watched(setup.context->device);
  Waits* const waits = options.find_waits ? &watched : nullptr;
  Step step({*config, setup.context, setup.preparation, *setup.model, *setup.loss, *setup.optimizer,
             learning_rate, *setup.make_inputs, *setup.strategy, run, capture_with, waits,
             /*keeps_frozen=*/!setup.base, setup.teacher.get()});
  if (setup.group->is_first()) {
    say_sample(*reporter, *config, setup, KEDGE_TRY(render_first_sample(*config, setup)));
  }
  say_step(*reporter, step, setup);
  Session session({config, setup.preparation, step, learning_rate, *setup.group, run, *reporter,
                   setup.data.digest, stop, crash,
                   best_metric_of(*config, *setup.preparation.task, setup.val_loader != nullptr),
                   setup.base});
  const std::int64_t durable_step = KEDGE_TRY(take_up_state(session, *reporter, run, start));
  const auto checkpoints =
      KEDGE_TRY(make_checkpoints(*config, setup, run, *reporter, session, durable_step));
  const auto replicas = Replicas::make({.config = *config,
                                        .device = setup.context->device,
                                        .run = run,
                                        .group = *setup.group,
                                        .key = run.is_silent() ? "" : replica_key(run.path())});
  std::optional<Evaluator> evaluator;
  if (setup.val_loader) {
    evaluator.emplace(
        *setup.val_loader, *setup.make_val_inputs, *setup.loss, setup.preparation,
        Evaluator::Options{.context = setup.context,
                           .with_confusion = config->track.confusion,
                           .prediction_count = config->track.predictions,
                           .beta = config->loss.beta,
                           .capture_with = config->train.graph ? capture_with : nullptr,
                           .strategy = setup.strategy.get(),
                           .should_stop = [&] { return stop.reason(checkpoints->reserve_s()); }});
  }
  Loop loop({*config, setup.preparation, step, session, learning_rate, *setup.train_loader,
             evaluator ? &*evaluator : nullptr, setup.data.val.get(), run, *reporter, crash});
  session.open(*checkpoints, replicas.get(), [&loop] { return loop.before_save(); });

  const Result<TrainSummary> trained = loop.run();
  const bool is_saved = trained || trained.error().kind == ErrorKind::Interrupted;
  if (replicas != nullptr && is_saved) {
    replicas->clear();
  }
  const TrainSummary summary = KEDGE_TRY(trained);
  checkpoints->clear_fast_folder();
  if (const std::string saves = checkpoints->summary(); !saves.empty()) {
    reporter->say("saved    " + saves);
  }
  finish_run(summary, setup, *reporter, run, waits);
  return {};
}

Result<void> train_as_rank(const config::LoadedConfig& config, const TrainingOptions& options) {
  KEDGE_TRY(check_checkpoint_name(*config));
  const StopSignals signals;
  const auto place = KEDGE_TRY(ranks::find_rank_place(ranks::find_environment_variable));
  device::open(place ? place->local_rank : 0);
  auto group = KEDGE_TRY(join_ranks(config));
  RunPlan plan;
  if (group->is_first()) {
    plan = KEDGE_TRY(plan_run(config, signals));
  }
  if (dist::broadcast_text(*group, plan.finished ? "finished" : "") == "finished") {
    if (group->is_first()) {
      say("run '{}' is finished: {} epochs, {} steps; raise train.epochs or train.max_steps to go "
          "on",
          config->run.id, plan.finished->epoch, plan.finished->step);
    }
    return {};
  }
  if (group->is_first() && !plan.resumption) {
    KEDGE_TRY(config::refuse_unread_keys(find_unread_keys(config)));
  }
  KEDGE_TRY(open_saved(config, *group, plan));
  Start start{.resumption = std::move(plan.resumption),
              .signals = signals,
              .time = StopRule::Clock::now(),
              .options = options};
  std::unique_ptr<track::Run> run;
  const auto attempt = [&]() -> Result<void> {
    const auto setup = KEDGE_TRY(make_setup(*config, std::move(group)));
    if (setup->group->is_first()) {
      run = KEDGE_TRY(open_run(config, *setup, start));
    }
    run = broadcast_run(*setup->group, std::move(run));
    ranks::show_run(run->id());
    if (const auto incident = ranks::find_environment_variable(ranks::kIncidentVariable);
        incident && !incident->empty()) {
      run->alert("ranks were started again", *incident, track::AlertLevel::Warning);
      run->console(*incident);
    }
    const ranks::RankNotes notes([&run](const std::string& report) {
      run->alert("the ranks hang", report, track::AlertLevel::Warning);
      run->console(report);
    });
    return train_in_run(config, *setup, *run, start);
  };
  Result<void> result = catch_torch(attempt);
  if (!result && run != nullptr) {
    const bool is_saved = result.error().kind == ErrorKind::Interrupted;
    run->console(result.error().message);
    run->finish(is_saved ? track::RunState::Interrupted : track::RunState::Failed,
                {{is_saved ? "stopped" : "error", result.error().message}});
  }
  return result;
}

}  // namespace

Result<void> run_training(const config::LoadedConfig& config, const TrainingOptions& options) {
  ranks::offer_stacks();
  const Result<void> result = catch_torch([&] { return train_as_rank(config, options); });
  if (result) {
    ranks::show_phase(ranks::RankPhase::Done);
  }
  return result;
}

}  // namespace kedge::train
