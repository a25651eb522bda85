// What libtorch threw, as one line for people: its own texts carry C++ and TorchScript backtraces.
#pragma once

#include <exception>
#include <string>

namespace kedge::nn {

std::string torch_message(const std::exception& error);

}  // namespace kedge::nn
