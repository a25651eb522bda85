// Libraries that are opened at run time.
#pragma once

#include <initializer_list>

#include <dlfcn.h>

namespace kedge::device {

// The first of these that is there, or null: then ::dlerror() says why the last is not.
inline void* open_library(std::initializer_list<const char*> names) {
  void* library = nullptr;
  for (const char* name : names) {
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      break;
    }
  }
  return library;
}

template <typename Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace kedge::device
