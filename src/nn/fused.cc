#include "nn/fused.h"

namespace kedge::nn {
namespace {

FusedOps* current = nullptr;

}  // namespace

void set_fused_ops(FusedOps* ops) {
  current = ops;
}

FusedOps* fused_ops() {
  return current;
}

}  // namespace kedge::nn
