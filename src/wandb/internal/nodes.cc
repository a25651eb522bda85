#include "wandb/internal/nodes.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wandb/internal/encoding.h"
#include "wandb/internal/lenient_json.h"

namespace kedge::wandb {

using graphql::Args;
using graphql::TypeBuilder;
using nlohmann::json;

namespace {

struct PageInfo {
  std::optional<std::string> end;
  bool has_next = false;
};

}  // namespace

std::string RunNode::id() const {
  return render_id(RunId{key_, entity_});
}

Result<const store::Run*> RunNode::run() const {
  if (!run_) {
    run_ = KEDGE_TRY(call_->api.store.find_run(key_));
  }
  return &*run_;
}

Result<const store::RunFacts*> RunNode::facts() const {
  if (!facts_) {
    facts_ = call_->api.store.find_facts(key_);
  }
  if (!facts_) {
    return fail(ErrorKind::NotFound, fmt::format("there is no run {}/{}", key_.project, key_.id));
  }
  return &*facts_;
}

Result<const Documents*> RunNode::documents() const {
  if (!documents_) {
    documents_ = KEDGE_TRY(call_->transcript().find_documents(key_));
  }
  return &*documents_;
}

Result<json> RunNode::document(const char* name) const {
  const Documents* all = KEDGE_TRY(documents());
  const auto found = all->find(name);
  return found == all->end() ? Result<json>(json()) : parse_lenient(found->second);
}

PageRequest parse_page(const Args& args, std::size_t fallback) {
  constexpr std::int64_t kMost = 10'000;
  PageRequest page;
  const std::int64_t first = args.number("first").value_or(static_cast<std::int64_t>(fallback));
  page.limit = static_cast<std::size_t>(std::clamp<std::int64_t>(first, 0, kMost));
  const std::string after = args.text("after").value_or("");
  std::size_t last = 0;
  const auto parsed = std::from_chars(after.data(), after.data() + after.size(), last);
  if (!after.empty() && parsed.ec == std::errc{}) {
    page.offset = last + 1;
  }
  return page;
}

void declare_connection(graphql::Schema& schema, const std::string& name, const std::string& type) {
  TypeBuilder<PageInfo>(schema, "PageInfo")
      .leaf("endCursor", &PageInfo::end)
      .leaf("hasNextPage", &PageInfo::has_next);
  TypeBuilder<Edge>(schema, name + "Edge")
      .leaf("cursor", &Edge::cursor)
      .object("node", type, &Edge::node);
  TypeBuilder<Connection>(schema, name + "Connection")
      .leaf("totalCount",
            [](const Connection& list) { return list.total.value_or(list.nodes.size()); })
      .object("pageInfo", "PageInfo",
              [](const Connection& list) {
                const std::size_t end = list.offset + list.nodes.size();
                return graphql::make_node(PageInfo{
                    list.nodes.empty() ? std::nullopt : std::optional(std::to_string(end - 1)),
                    list.has_next});
              })
      .object("edges", name + "Edge", [](const Connection& list) {
        std::vector<Edge> edges;
        for (std::size_t i = 0; i < list.nodes.size(); ++i) {
          edges.push_back({list.nodes[i], std::to_string(list.offset + i)});
        }
        return graphql::make_nodes(std::move(edges));
      });
}

nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

std::string project_or_default(const std::optional<std::string>& name) {
  return name && !name->empty() ? *name : "uncategorized";
}

std::optional<ProjectNode> find_project(const Call& call, const Args& args) {
  const std::string name = project_or_default(args.text("name"));
  const auto found = call.api.store.find_project(name);
  if (!found || found->deleted_us != 0 || !call.check(name)) {
    return std::nullopt;
  }
  return ProjectNode{&call, name, call.entity_or_viewer(args.text("entityName"))};
}

std::optional<RunNode> find_run(const Call& call, const std::string& entity,
                                const store::RunKey& key) {
  const auto facts = call.api.store.find_facts(key);
  if (!facts || facts->deleted_us != 0 || !call.check(key.project, key.id)) {
    return std::nullopt;
  }
  return RunNode(call, key, entity);
}

Result<RunNode> load_run(const Call& call, const std::string& id) {
  const auto parsed = parse_run_id(id);
  if (!parsed) {
    return fail(ErrorKind::NotFound, fmt::format("'{}' is no run's id", id));
  }
  KEDGE_TRY(call.check(parsed->key.project, parsed->key.id));
  RunNode node(call, parsed->key, parsed->entity);
  KEDGE_TRY(node.facts());
  return node;
}

}  // namespace kedge::wandb
