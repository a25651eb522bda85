// The MLflow dialect of the server: what unmodified mlflow clients call when MLFLOW_TRACKING_URI is
// its address. It reads and writes the same tables as the native API (an experiment is a project, a
// parameter a config value) and knows nothing of sockets or SQL engines.
// docs/reference/mlflow.md says which calls there are and how far each goes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "graphql/execute.h"
#include "http/http.h"
#include "server/api.h"

namespace kedge::mlflow {

// Clients give no sign of life between two values: their runs are never taken for crashed.
inline constexpr std::optional<std::int64_t> kSilence_us = std::nullopt;

struct Options {
  // Where clients put artifacts themselves: a folder they all see, s3://... Empty: through us.
  std::string artifact_root = {};
  bool takes_parts = false;  // of large artifacts; blobs in files need none
};

// Answers MLflow's GraphQL documents, and nothing for others': POST /graphql is W&B's address too,
// and whoever has the route asks here first.
using GraphqlAnswer = std::function<std::optional<http::Response>(
    const http::Request& request, const graphql::Question& question)>;

GraphqlAnswer add_routes(http::Router& router, const server::Api& api, const Options& options = {});

}  // namespace kedge::mlflow
