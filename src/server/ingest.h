// How the facts of run folders get into the store, whichever way they come: by the requests of
// pushing runs and of `kedge sync`, or by the watch over folders.
#pragma once

#include <cstdint>
#include <functional>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "store/run.h"
#include "store/store.h"

namespace kedge::server {

using NowUs = std::function<std::int64_t()>;  // Unix time in microseconds

// What track::read_run_facts() returns, or a part of it. A run that is not known is made. Unless
// they say that the run has ended, facts are a sign of life, also when they are empty. Usage,
// naming the field, where something is not as it should be.
Result<store::Run> take_facts(store::Store& store, const store::RunKey& run, nlohmann::json facts,
                              std::int64_t now_us);

}  // namespace kedge::server
