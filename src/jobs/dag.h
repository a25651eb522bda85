// Steps that wait for each other: prepare, train, evaluate. A file of steps says what each does and
// what must have happened before; any scheduler can run it.
//
//   name: cats
//   job: {queue: gpu}              # for all steps
//   steps:
//     pack:   {command: [tar, xf, images.tar]}
//     train:  {config: config.yaml, set: [train.epochs=20], after: pack, retries: 2}
//     report: {command: [./report.sh], after: {train: any}}
//     alarm:  {command: [./alarm.sh], after: {train: failed}}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "jobs/job_spec.h"

namespace kedge::jobs {

// A step that did not run because of its own `after` counts as ended, not as failed.
struct DagAfter {
  std::string step;
  After edge = After::Ok;
};

struct DagStep {
  std::string name;
  std::string config = {};                // kedge train CONFIG, or ...
  std::vector<std::string> set = {};      // ... with these key=value words
  std::vector<std::string> command = {};  // any program
  std::vector<std::string> job = {};      // "job.gpus=1" words, those of the whole file first
  std::vector<DagAfter> after = {};
  std::int64_t retries = 0;
};

struct Dag {
  std::string name;
  std::vector<DagStep> steps;  // each after all that it waits for

  // Whether every edge is Ok, so that a failure simply ends what comes behind it.
  bool is_plain() const;
};

// Whether a file of YAML is meant as one: it has `steps` at its root.
bool looks_like_dag(const std::string& yaml_text);

// `where` names the file in errors. Errors: Usage, with the line: unknown keys and steps, circles.
Result<Dag> parse_dag(const std::string& yaml_text, const std::string& where);

}  // namespace kedge::jobs
