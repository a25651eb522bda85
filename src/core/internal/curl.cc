#include "core/internal/curl.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace kedge::internal {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<Curl> open_curl() {
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(ErrorKind::Unavailable, fmt::format("cannot open libcurl: {}", ::dlerror()),
                "install it: apt-get install libcurl4, or dnf install libcurl");
  }
  Curl curl;
  const bool is_whole = find(library, "curl_global_init", curl.global_init) &&
                        find(library, "curl_easy_init", curl.easy_init) &&
                        find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                        find(library, "curl_easy_reset", curl.easy_reset) &&
                        find(library, "curl_easy_setopt", curl.easy_setopt) &&
                        find(library, "curl_easy_perform", curl.easy_perform) &&
                        find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                        find(library, "curl_easy_strerror", curl.easy_strerror) &&
                        find(library, "curl_slist_append", curl.slist_append) &&
                        find(library, "curl_slist_free_all", curl.slist_free_all);
  if (!is_whole || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return fail(ErrorKind::Unavailable, "libcurl.so.4 is there but cannot be used",
                "install the system's own libcurl: apt-get install --reinstall libcurl4");
  }
  return curl;
}

}  // namespace

const Result<Curl>& shared_curl() {
  static const Result<Curl> curl = open_curl();
  return curl;
}

}  // namespace kedge::internal
