// PostgreSQL's client library, opened when a store asks for it: users of SQLite need not have it.
#pragma once

#include <postgresql/libpq-fe.h>

#include "core/result.h"

namespace kedge::store {

struct Libpq {
  decltype(&PQconnectdbParams) connect = nullptr;
  decltype(&PQfinish) finish = nullptr;
  decltype(&PQreset) reset = nullptr;
  decltype(&PQstatus) status = nullptr;
  decltype(&PQerrorMessage) error_message = nullptr;
  decltype(&PQexec) exec = nullptr;
  decltype(&PQprepare) prepare = nullptr;
  decltype(&PQexecPrepared) exec_prepared = nullptr;
  decltype(&PQresultStatus) result_status = nullptr;
  decltype(&PQresultErrorField) result_error_field = nullptr;
  decltype(&PQclear) clear = nullptr;
  decltype(&PQntuples) row_count = nullptr;
  decltype(&PQgetvalue) value = nullptr;
  decltype(&PQgetlength) length = nullptr;
  decltype(&PQgetisnull) is_null = nullptr;
  decltype(&PQsetNoticeProcessor) set_notice_processor = nullptr;
};

// Unavailable when it is not installed. The same object for the life of the process.
Result<const Libpq*> open_libpq();

}  // namespace kedge::store
