#include "launch/condor/dag_file.h"

#include <algorithm>

#include <fmt/format.h>

namespace kedge::launch::condor {
namespace {

constexpr int kSkip = 99;

constexpr const char* kScript = R"sh(#!/bin/bash
# Notes how steps end, and decides whether a step runs:
#   begin STEP [PARENT:ok|any|failed ...]    99: it does not
#   end STEP EXIT_CODE TRY LAST_TRY          1: DAGMan tries again
#   outcome                                  1: a step failed
cd "$(dirname "$0")" || exit 1
mkdir -p steps
case $1 in
  begin)
    step=$2
    shift 2
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

void add_plain_edges(std::string& text, const std::vector<DagNode>& nodes) {
  for (const DagNode& node : nodes) {
    for (const DagAfter& after : node.after) {
      text += fmt::format("PARENT {} CHILD {}\n", after.step, node.name);
    }
  }
}

void add_scripts(std::string& text, const std::vector<DagNode>& nodes) {
  for (const DagNode& node : nodes) {
    std::string edges;
    for (const DagAfter& after : node.after) {
      edges += fmt::format(" {}:{}", after.step, name_of(after.edge));
    }
    if (!edges.empty()) {
      text += fmt::format("SCRIPT PRE {} {} begin {}{}\n", node.name, kDagScript, node.name, edges);
      text += fmt::format("PRE_SKIP {} {}\n", node.name, kSkip);
    }
    text += fmt::format("SCRIPT POST {} {} end {} $RETURN $RETRY $MAX_RETRIES\n", node.name,
                        kDagScript, node.name);
  }
  text += fmt::format("FINAL outcome {} NOOP\nSCRIPT PRE outcome {} outcome\n",
                      nodes.front().submit_file, kDagScript);
}

}  // namespace

Result<DagText> render_dag(const std::vector<DagNode>& nodes) {
  KEDGE_CHECK(!nodes.empty(), "a DAG has a step");
  DagText result;
  bool is_plain = true;
  for (const DagNode& node : nodes) {
    if (node.submit_file.find_first_of(" \t\n\"") != std::string::npos) {
      return fail(ErrorKind::Usage, fmt::format("a DAG file cannot name '{}'", node.submit_file),
                  "submit from a folder whose path has no white space");
    }
    result.dag += fmt::format("JOB {} {}\n", node.name, node.submit_file);
    if (node.retries > 0) {
      result.dag += fmt::format("RETRY {} {}\n", node.name, node.retries);
    }
    is_plain = is_plain && std::ranges::all_of(node.after, [](const DagAfter& after) {
                 return after.edge == After::Ok;
               });
  }
  add_plain_edges(result.dag, nodes);
  if (!is_plain) {
    add_scripts(result.dag, nodes);
    result.script = kScript;
  }
  return result;
}

}  // namespace kedge::launch::condor
