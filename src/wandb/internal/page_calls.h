// What the page asks of this dialect: src/wandb/page_calls.cc.
#pragma once

#include "core/result.h"
#include "http/http.h"
#include "wandb/internal/call.h"

namespace kedge::wandb {

// GET /wandb/panels/{project}/{run}: {"panels": {KEY: what wandb.plot made}}.
Result<http::Response> list_panels(const Call& call);

// GET /wandb/artifacts/{client}?project=P&run=R&file=F&step=N: project, name and version of what a
// client calls "wandb-client-artifact://CLIENT"; where that is unknown, of the run's newest table
// that has the file and is not newer than the step. NotFound until one is committed.
Result<http::Response> find_client_artifact(const Call& call);

}  // namespace kedge::wandb
