// What `kedge train` tells people around the training: what it is about to do, and what came of it.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "config/config.h"
#include "core/result.h"
#include "track/run.h"
#include "train/internal/loop.h"
#include "train/internal/reporter.h"
#include "train/internal/resumption.h"
#include "train/internal/setup.h"

namespace kedge::train {

void say_facts(Reporter& reporter, const config::Config& config, const Setup& setup,
               const track::Run& run);

// The sample that training begins with, as text; empty where it is none.
Result<std::string> render_first_sample(const config::Config& config, const Setup& setup);

// Its first lines.
void say_sample(Reporter& reporter, const config::Config& config, const Setup& setup,
                const std::string& text);

// How steps are done on a GPU; nothing on the CPU.
void say_step(Reporter& reporter, const Step& step, const Setup& setup);

// Where a run goes on, and what is different now.
void say_resumption(Reporter& reporter, const Resumption& resumption, const track::Run& run);

void say_summary(Reporter& reporter, const TrainSummary& summary, std::uint64_t peak_bytes,
                 const track::Run& run);

// The same for programs.
nlohmann::json summary_json(const TrainSummary& summary, std::uint64_t peak_bytes);

}  // namespace kedge::train
