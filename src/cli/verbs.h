// The verbs of `kedge`, one file each. Those that need libtorch are run by kedge-train.
#pragma once

#include <span>
#include <string>

namespace kedge::cli {

using Args = std::span<const std::string>;

// As shells, env and timeout say it.
inline constexpr int kExitCannotStart = 126;
inline constexpr int kExitNoProgram = 127;

int run_agent(Args args);
int run_artifact(Args args);
int run_cancel(Args args);
int run_bench(Args args);
int run_ckpt(Args args);
int run_completion(Args args);
int run_config(Args args);
int run_container(Args args);
int run_data(Args args);
int run_importance(Args args);
int run_ensemble(Args args);
int run_init(Args args);
int run_jobs(Args args);
int run_list(Args args);
int run_logs(Args args);
int run_net(Args args);
int run_retry(Args args);
int run_run(Args args);
int run_runs(Args args);
int run_scale(Args args);
int run_server(Args args);
int run_server_store(const std::string& word, Args args);  // backup, restore, check
int run_server_link(Args args);
int run_status(Args args);
int run_submit(Args args);
int run_sweep(Args args);
int run_sync(Args args);
int run_task(Args args);

// Becomes `kedge-train VERB ARGS...`, which is beside this program.
int run_in_kedge_train(const std::string& verb, Args args);

std::string kedge_train_program();

// `train` with dist.ranks above 1: this process starts them and watches.
int run_train_ranks(Args args);

}  // namespace kedge::cli
