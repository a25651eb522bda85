// MLflow's messages as GraphQL types: a call's answer is looked into field by field, experimentId
// for experiment_id, integers of 64 bits as texts.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "graphql/schema.h"

namespace kedge::mlflow {

struct Asker;  // mlflow/graphql.cc

// A part of an answer.
struct Message {
  const Asker* asker = nullptr;
  std::shared_ptr<const nlohmann::json> body = {};

  // A message inside it, which is empty where it is missing: protocol buffers have no null there.
  Message part(const char* name) const;
  std::string text(const char* name) const;  // "" when missing
};

graphql::Value make_messages(const Message& whole, const char* name);

void declare_messages(graphql::Schema& schema);

}  // namespace kedge::mlflow
