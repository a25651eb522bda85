// The objects that GraphQL requests look into, and the functions that declare their types: one file
// a subject.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "graphql/schema.h"
#include "store/run.h"
#include "wandb/internal/call.h"
#include "wandb/internal/run_words.h"

namespace kedge::wandb {

struct EntityNode {
  const Call* call = nullptr;
  std::string name = {};
};

struct UserNode {
  const Call* call = nullptr;
  std::string name = {};
};

struct ProjectNode {
  const Call* call = nullptr;
  std::string name = {};
  std::string entity = {};
};

// Reads what is asked for, each thing once.
class RunNode {
 public:
  RunNode(const Call& call, store::RunKey key, std::string entity)
      : call_(&call), key_(std::move(key)), entity_(std::move(entity)) {}

  const Call& call() const { return *call_; }

  const store::RunKey& key() const { return key_; }

  const std::string& entity() const { return entity_; }

  ProjectNode project() const { return {call_, key_.project, entity_}; }

  std::string id() const;
  Result<const store::Run*> run() const;
  Result<const store::RunFacts*> facts() const;
  Result<const Documents*> documents() const;
  // A document parsed; null: it is not there.
  Result<nlohmann::json> document(const char* name) const;

 private:
  const Call* call_;
  store::RunKey key_;
  std::string entity_;
  mutable std::optional<store::Run> run_ = {};
  mutable std::optional<store::RunFacts> facts_ = {};
  mutable std::optional<Documents> documents_ = {};
};

// A page of a list. Cursors are the places of its members.
struct Connection {
  std::vector<graphql::Node> nodes = {};
  std::size_t offset = 0;
  bool has_next = false;
  std::optional<std::size_t> total = {};
};

struct Edge {
  graphql::Node node;
  std::string cursor;
};

// What `first` and `after` ask for.
struct PageRequest {
  std::size_t offset = 0;
  std::size_t limit = 0;
};

PageRequest parse_page(const graphql::Args& args, std::size_t fallback = 50);

// The page of a list that is at hand.
template <typename T>
Connection make_page(std::vector<T> all, const PageRequest& page) {
  Connection connection{.offset = page.offset, .total = all.size()};
  for (std::size_t i = page.offset; i < all.size() && i - page.offset < page.limit; ++i) {
    connection.nodes.push_back(graphql::make_node(std::move(all[i])));
  }
  connection.has_next = page.offset + connection.nodes.size() < all.size();
  return connection;
}

// Declares NAMEConnection and NAMEEdge for nodes of a type.
void declare_connection(graphql::Schema& schema, const std::string& name, const std::string& type);

// An empty text is null.
nlohmann::json text_or_null(const std::string& text);

// Usage for a name that cannot be one; an empty one is "uncategorized".
std::string project_or_default(const std::optional<std::string>& name);

// Nothing: the caller may not see it, or it is not there.
std::optional<ProjectNode> find_project(const Call& call, const graphql::Args& args);
std::optional<RunNode> find_run(const Call& call, const std::string& entity,
                                const store::RunKey& key);
// The run of an opaque id; NotFound.
Result<RunNode> load_run(const Call& call, const std::string& id);

void declare_viewer(graphql::Schema& schema);       // viewer.cc
void declare_projects(graphql::Schema& schema);     // projects.cc
void declare_runs(graphql::Schema& schema);         // runs.cc
void declare_run_changes(graphql::Schema& schema);  // run_changes.cc
void declare_run_files(graphql::Schema& schema);    // run_files.cc
void declare_run_history(graphql::Schema& schema);  // run_history.cc

}  // namespace kedge::wandb
