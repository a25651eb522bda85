// Libraries that are opened at run time.
#pragma once

#include <dlfcn.h>

namespace kedge::gpu {

template <typename Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace kedge::gpu
