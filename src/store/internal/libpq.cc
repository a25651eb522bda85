#include "store/internal/libpq.h"

#include <string>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/result.h"

namespace kedge::store {
namespace {

template <typename Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<Libpq> load_libpq() {
  void* library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(ErrorKind::Unavailable,
                fmt::format("PostgreSQL's client library is not installed: {}", ::dlerror()),
                "apt-get install libpq5, or put --data on a local disk (SQLite)");
  }
  Libpq pq;
  const bool has_all =
      load(library, "PQconnectdbParams", pq.connect) && load(library, "PQfinish", pq.finish) &&
      load(library, "PQreset", pq.reset) && load(library, "PQstatus", pq.status) &&
      load(library, "PQerrorMessage", pq.error_message) && load(library, "PQexec", pq.exec) &&
      load(library, "PQprepare", pq.prepare) && load(library, "PQexecPrepared", pq.exec_prepared) &&
      load(library, "PQresultStatus", pq.result_status) &&
      load(library, "PQresultErrorField", pq.result_error_field) &&
      load(library, "PQclear", pq.clear) && load(library, "PQntuples", pq.row_count) &&
      load(library, "PQgetvalue", pq.value) && load(library, "PQgetlength", pq.length) &&
      load(library, "PQgetisnull", pq.is_null) &&
      load(library, "PQsetNoticeProcessor", pq.set_notice_processor);
  if (!has_all) {
    return fail(ErrorKind::Unavailable, fmt::format("libpq.so.5 is too old: {}", ::dlerror()));
  }
  return pq;
}

}  // namespace

Result<const Libpq*> open_libpq() {
  static const Result<Libpq> kLibrary = load_libpq();
  if (!kLibrary) {
    return std::unexpected(kLibrary.error());
  }
  return &*kLibrary;
}

}  // namespace kedge::store
