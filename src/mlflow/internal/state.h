// What the calls share besides the server's own parts; one for a router.
#pragma once

#include <string>
#include <utility>

#include "mlflow/internal/links.h"
#include "mlflow/internal/logged_models.h"
#include "server/api.h"

namespace kedge::mlflow {

struct State {
  State(const server::Api& api, std::string root, bool parts)
      : artifact_root(root.empty() ? "mlflow-artifacts:/" : std::move(root)),
        takes_parts(parts),
        links(api.store),
        logged_models(api.store) {}

  std::string artifact_root;  // of experiments that were made without a place of their own
  bool takes_parts;           // of large files: artifact_parts.cc

  Links links;
  LoggedModels logged_models;
};

}  // namespace kedge::mlflow
