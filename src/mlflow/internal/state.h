// What the calls share besides the server's own parts; one for a router.
#pragma once

#include <string>
#include <utility>

#include "server/api.h"
#include "store/dialect/links.h"
#include "store/dialect/logged_models.h"
#include "store/dialect/loose_files.h"

namespace kedge::mlflow {

struct State {
  State(const server::Api& api, std::string root, bool parts)
      : artifact_root(root.empty() ? "mlflow-artifacts:/" : std::move(root)),
        takes_parts(parts),
        links(api.store),
        logged_models(api.store),
        loose_files(api.store) {}

  std::string artifact_root;  // of experiments that were made without a place of their own
  bool takes_parts;           // of large files: artifact_parts.cc

  store::Links links;
  store::LoggedModels logged_models;
  store::LooseFiles loose_files;
};

}  // namespace kedge::mlflow
