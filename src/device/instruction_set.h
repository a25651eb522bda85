// Some virtual machines announce AMX and cannot execute it. oneDNN, which computes bf16 products,
// then ends any program with SIGILL, PyTorch's too. So a small product is tried in a child process,
// and where the child dies, oneDNN is held to older instructions.
#pragma once

#include <functional>
#include <string>

#include "core/file.h"

namespace kedge::device {

// Whether the processor says that it has AMX. Elsewhere there is nothing to try.
bool announces_amx();

// The newest ONEDNN_MAX_CPU_ISA with which `product` survives in a child process; empty when it
// needs no limit, or when none helps. Forks: only for a process that has no threads yet.
std::string find_instruction_limit(const std::function<void()>& product);

// The same, read from `memory` when it holds this boot's answer for this libtorch, else written
// there. A memory that cannot be read or written costs the time of a trial, nothing else.
std::string remembered_instruction_limit(const Path& memory, const std::function<void()>& product);

// Sets ONEDNN_MAX_CPU_ISA for this process and its children where it is needed and the user has not
// set it. Returns what it set; empty: nothing. Call it first in main(): oneDNN reads the variable
// once, and it forks.
std::string limit_instruction_set();

}  // namespace kedge::device
