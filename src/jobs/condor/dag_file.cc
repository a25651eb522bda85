#include "jobs/condor/dag_file.h"

#include <algorithm>

#include <fmt/format.h>

namespace kedge::jobs::condor {
namespace {

constexpr int kSkip = 99;

constexpr const char* kScript = R"sh(#!/bin/bash
# Notes how steps end, and decides whether a step runs:
#   begin STEP FOLDER [PARENT:ok|any|failed ...]   99: it does not, 1: it was cancelled
#   end STEP EXIT_CODE TRY LAST_TRY                1: DAGMan tries again
#   outcome                                        1: a step failed
cd "$(dirname "$0")" || exit 1
mkdir -p steps
case $1 in
  begin)
    step=$2
    if [ -e "$3/cancelled" ]; then
      echo failed >"steps/$step"
      exit 1
    fi
    shift 3
    for edge; do
      state=$(cat "steps/${edge%:*}")
      case ${edge##*:}:$state in
        ok:ok | any:* | failed:failed) ;;
        *)
          echo skipped >"steps/$step"
          exit 99
          ;;
      esac
    done
    ;;
  end)
    if [ "$3" = 0 ]; then
      echo ok >"steps/$2"
    elif [ "$4" -lt "$5" ]; then
      exit 1
    else
      echo failed >"steps/$2"
    fi
    ;;
  outcome)
    ! grep -qx failed steps/*
    ;;
esac
)sh";

std::string path_of(const DagNode& node) {
  return node.folder + "/" + node.submit_file;
}

bool has_plain_edges(const DagNode& node) {
  return std::ranges::all_of(node.after,
                             [](const DagAfter& after) { return after.edge == After::Ok; });
}

void add_edges(std::string& text, const std::vector<DagNode>& nodes) {
  for (const DagNode& node : nodes) {
    for (const DagAfter& after : node.after) {
      text += fmt::format("PARENT {} CHILD {}\n", after.step, node.name);
    }
  }
}

void add_begin(std::string& text, const DagNode& node, bool is_plain) {
  std::string edges;
  for (const DagAfter& after : node.after) {
    edges += is_plain ? "" : fmt::format(" {}:{}", after.step, name_of(after.edge));
  }
  text += fmt::format("SCRIPT PRE {} {} begin {} {}{}\n", node.name, kDagScript, node.name,
                      node.folder, edges);
  if (!edges.empty()) {
    text += fmt::format("PRE_SKIP {} {}\n", node.name, kSkip);
  }
}

void add_ends(std::string& text, const std::vector<DagNode>& nodes) {
  for (const DagNode& node : nodes) {
    text += fmt::format("SCRIPT POST {} {} end {} $RETURN $RETRY $MAX_RETRIES\n", node.name,
                        kDagScript, node.name);
  }
  text += fmt::format("FINAL outcome {} NOOP\nSCRIPT PRE outcome {} outcome\n",
                      path_of(nodes.front()), kDagScript);
}

}  // namespace

Result<DagText> render_dag(const std::vector<DagNode>& nodes) {
  KEDGE_CHECK(!nodes.empty(), "a DAG has a step");
  DagText result{.dag = {}, .script = kScript};
  const bool is_plain = std::ranges::all_of(nodes, has_plain_edges);
  for (const DagNode& node : nodes) {
    if (path_of(node).find_first_of(" \t\n\"") != std::string::npos) {
      return fail(ErrorKind::Usage, fmt::format("a DAG file cannot name '{}'", path_of(node)),
                  "submit from a folder whose path has no white space");
    }
    result.dag += fmt::format("JOB {} {}\n", node.name, path_of(node));
    if (node.retries > 0) {
      result.dag += fmt::format("RETRY {} {}\n", node.name, node.retries);
    }
    add_begin(result.dag, node, is_plain);
  }
  add_edges(result.dag, nodes);
  if (!is_plain) {
    add_ends(result.dag, nodes);
  }
  return result;
}

}  // namespace kedge::jobs::condor
