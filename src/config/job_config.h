// The job section: what the work needs from a machine or a scheduler.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"

namespace kedge::config {

// What a job that has saved and stopped (exit code 85) does about its own continuation on Slurm.
enum class Continuation : std::uint8_t { Requeue, Chain };

constexpr std::array<std::string_view, 2> enum_names(Continuation) {
  return {"requeue", "chain"};
}

enum class ContainerTool : std::uint8_t { Auto, Pyxis, Apptainer, Docker };

constexpr std::array<std::string_view, 4> enum_names(ContainerTool) {
  return {"auto", "pyxis", "apptainer", "docker"};
}

enum class JobLength : std::uint8_t { Auto, None, Short, Medium, Long };

constexpr std::array<std::string_view, 5> enum_names(JobLength) {
  return {"auto", "none", "short", "medium", "long"};
}

struct JobConfig {
  std::string scheduler = "auto";
  std::int64_t nodes = 1;
  std::int64_t ranks = 1;
  std::int64_t gpus = 0;
  Bytes gpu_memory = {};
  std::string gpu_capability = "";
  std::string gpu_capability_max = "";
  std::int64_t cpus = 2;
  Bytes memory = {4'000'000'000};
  Bytes disk = {2'000'000'000};
  Seconds time = {3600};
  std::string queue = "";
  std::string account = "";
  std::string qos = "";
  std::string constraint = "";
  std::string reservation = "";
  std::string container = "";
  ContainerTool container_tool = ContainerTool::Auto;
  std::vector<std::string> mounts = {};
  std::vector<std::string> modules = {};
  std::string conda = "";
  std::string venv = "";
  std::vector<std::string> setup = {};
  std::map<std::string, std::string> env = {};
  std::vector<std::string> secrets = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::string output = "";
  bool stamp = true;
  std::int64_t at_once = 0;
  std::int64_t retries = 0;
  bool resumable = false;
  Continuation continuation = Continuation::Requeue;
  Seconds grace = {0};
  Seconds checkpoint_every = {0};
  JobLength length = JobLength::Auto;
  bool backfill = false;
  bool data_may_leave = true;
  std::vector<std::string> directives = {};

  void describe(Section& s) {
    s.every_field(InHash::Never);
    describe_place(s);
    describe_surroundings(s);
    describe_course(s);
  }

 private:
  void describe_place(Section& s) {
    s.field("scheduler", scheduler,
            "who runs the job, a name of `kedge list schedulers`; auto: the one that this machine "
            "belongs to, else local");
    s.field("nodes", nodes, "machines", at_least(1));
    s.field("ranks", ranks, "processes on each machine: the same as dist.ranks", at_least(1),
            SameAs{"dist.ranks"});
    s.field("gpus", gpus, "GPUs per machine", at_least(0));
    s.field("gpu_memory", gpu_memory, "least memory of each GPU, e.g. 16GB; 0: any");
    s.field("gpu_capability", gpu_capability, "least compute capability, e.g. 8.0; empty: any");
    s.field("gpu_capability_max", gpu_capability_max,
            "greatest compute capability that the program was built for; empty: any");
    s.field("cpus", cpus, "cores per process", at_least(1));
    s.field("memory", memory, "memory per machine");
    s.field("disk", disk, "scratch disk per machine");
    s.field("time", time, "time limit: 90m, 12h, 1-00:00:00");
    s.field("queue", queue, "Slurm partition or HTCondor pool; empty: the site's default");
    s.field("account", account, "who pays; empty: the site's default");
    s.field("qos", qos, "Slurm's quality of service; empty: the site's default");
    s.field("constraint", constraint, "node features the scheduler must match");
    s.field("reservation", reservation, "a reservation to run in");
    s.field(
        "length", length,
        "HTCondor's class of GPU jobs (+GPUJobLength): short is 12 h, medium 24 h, long 7 days; "
        "auto: by the estimate of the submit, or by job.time where there is none; none: the submit "
        "file says nothing");
    s.field("backfill", backfill,
            "HTCondor: also take slots that their owners may take back at any moment");
    s.field("data_may_leave", data_may_leave,
            "HTCondor: the job may run at other sites; false: in this pool alone");
    s.field("directives", directives,
            "lines for the scheduler as they are: '--exclusive' for Slurm, '+X = true' for "
            "HTCondor");
  }

  void describe_surroundings(Section& s) {
    s.field("container", container,
            "image to run in: a .sif or .sqsh file, docker://..., oras://...; empty: none");
    s.field("container_tool", container_tool,
            "what starts the container: auto is pyxis on Slurm for .sqsh files and registry names, "
            "else apptainer");
    s.field("mounts", mounts, "folders seen in the container: /data or /data:/inside");
    s.field("modules", modules, "environment modules to load, in order");
    s.field("conda", conda, "conda environment to activate: a name or a path; empty: none");
    s.field("venv", venv, "folder of a Python venv to activate; empty: none");
    s.field("setup", setup, "shell lines before the program, after modules, conda and venv");
    s.field("env", env, "environment variables of the job; keys and tokens are refused here");
    s.field("secrets", secrets,
            "names of variables of your shell with keys that the job needs, e.g. [HF_TOKEN]: "
            "handed over in a file that only you can read and that goes away with the job; "
            "programs get KEDGE_TOKEN and the keys of W&B and MLflow without being named, except "
            "where files travel (HTCondor)");
    s.field("inputs", inputs,
            "files and folders that the job needs; sent along where nothing is shared (HTCondor), "
            "checked before submitting elsewhere");
    s.field("outputs", outputs, "files and folders that come home at the end (HTCondor)");
    s.field("output", output,
            "where what the job prints goes: %x name, %j job, %A array, %a task, %N node; empty: "
            "jobs/<key>/logs/");
    s.field("stamp", stamp, "put time and host before each line that the job prints");
  }

  void describe_course(Section& s) {
    s.field("at_once", at_once, "tasks of an array that may run at the same time; 0: all",
            at_least(0));
    s.field("retries", retries, "times a failed job is run again", at_least(0));
    s.field("resumable", resumable,
            "a program other than kedge train goes on where it stopped when it is started again: "
            "it is stopped before the time limit and run again");
    s.field("continuation", continuation,
            "how a job that saved and stopped goes on, on Slurm: requeue the same job, or chain: "
            "submit a follower, where the site forbids requeueing");
    s.field("grace", grace,
            "how long before the time limit a job is told to save; must exceed a save; 0: kedge "
            "train works it out by itself, other programs get 2 minutes",
            at_least(0));
    s.field("checkpoint_every", checkpoint_every,
            "save and exit with 85 after this long, so that HTCondor fetches the checkpoint and "
            "starts the job again; 0: 1 h under HTCondor, else run to the end");
  }
};

}  // namespace kedge::config
