// Artifacts::lineage: a breadth-first walk over who made and who used what.
#include <map>
#include <tuple>

#include "store/artifacts.h"
#include "store/internal/tables.h"

namespace kedge::store {
namespace {

class Walk {
 public:
  Walk(Database& database, std::size_t limit) : database_(database), limit_(limit) {}

  Result<Lineage> from(const LineageNode& start) {
    place_of(start);
    for (std::size_t at = 0; at < lineage_.nodes.size(); ++at) {
      const LineageNode node = lineage_.nodes[at];
      KEDGE_TRY(node.kind == LineageNode::Kind::Run ? visit_run(at, node)
                                                    : visit_artifact(at, node));
    }
    return std::move(lineage_);
  }

 private:
  using Key = std::tuple<LineageNode::Kind, std::string, std::string, std::int64_t>;

  // Where the node stands; nothing when there is no room for another one.
  std::optional<std::size_t> place_of(const LineageNode& node) {
    const Key key{node.kind, node.project, node.name, node.version};
    if (const auto known = places_.find(key); known != places_.end()) {
      return known->second;
    }
    if (lineage_.nodes.size() >= limit_) {
      lineage_.is_cut = true;
      return std::nullopt;
    }
    places_[key] = lineage_.nodes.size();
    lineage_.nodes.push_back(node);
    return places_[key];
  }

  // An edge is met from both of its ends and kept once: from the end that is visited first.
  void connect(std::size_t at, const LineageNode& other, bool is_outgoing) {
    const std::optional<std::size_t> place = place_of(other);
    if (place && *place >= at) {
      lineage_.edges.push_back(is_outgoing ? LineageEdge{at, *place} : LineageEdge{*place, at});
    }
  }

  Result<void> visit_run(std::size_t at, const LineageNode& run) {
    const auto visitor = [&](bool is_outgoing) {
      return [this, at, is_outgoing](const SqlRow& row) -> Result<void> {
        connect(at,
                {.kind = LineageNode::Kind::Artifact,
                 .project = row.string(0),
                 .name = row.string(1),
                 .version = row.integer(2)},
                is_outgoing);
        return {};
      };
    };
    KEDGE_TRY(database_.query(
        "SELECT a.project, a.name, v.version FROM artifact_versions v"
        " JOIN artifacts a ON a.id = v.artifact WHERE v.made_by = $1 AND v.made_in = $2"
        " ORDER BY v.id",
        {run.name, run.project}, visitor(true)));
    return database_.query(
        "SELECT a.project, a.name, v.version FROM artifact_uses u"
        " JOIN artifact_versions v ON v.id = u.version JOIN artifacts a ON a.id = v.artifact"
        " WHERE u.run_id = $1 AND u.project = $2 ORDER BY v.id",
        {run.name, run.project}, visitor(false));
  }

  Result<void> visit_artifact(std::size_t at, const LineageNode& artifact) {
    const auto visitor = [&](bool is_outgoing) {
      return [this, at, is_outgoing](const SqlRow& row) -> Result<void> {
        connect(at,
                {.kind = LineageNode::Kind::Run, .project = row.string(0), .name = row.string(1)},
                is_outgoing);
        return {};
      };
    };
    KEDGE_TRY(database_.query(
        "SELECT v.made_in, v.made_by FROM artifact_versions v"
        " JOIN artifacts a ON a.id = v.artifact"
        " WHERE a.project = $1 AND a.name = $2 AND v.version = $3 AND v.made_by <> ''",
        {artifact.project, artifact.name, artifact.version}, visitor(false)));
    return database_.query(
        "SELECT u.project, u.run_id FROM artifact_uses u"
        " JOIN artifact_versions v ON v.id = u.version JOIN artifacts a ON a.id = v.artifact"
        " WHERE a.project = $1 AND a.name = $2 AND v.version = $3 ORDER BY u.time_us",
        {artifact.project, artifact.name, artifact.version}, visitor(true));
  }

  Database& database_;
  std::size_t limit_;
  Lineage lineage_;
  std::map<Key, std::size_t> places_;
};

}  // namespace

Result<Lineage> Artifacts::lineage(const LineageNode& start, std::size_t limit) const {
  return Tables(store_).read([&](Database& database) { return Walk(database, limit).from(start); });
}

}  // namespace kedge::store
