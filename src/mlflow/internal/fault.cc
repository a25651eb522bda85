#include "mlflow/internal/fault.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "http/http.h"

namespace kedge::mlflow {
namespace {

constexpr int kDiskFull = 507;

struct CodeFacts {
  std::string_view name;
  int status;
  std::string_view sqlstate;
  std::string_view error_class;
};

// In the order of Code.
constexpr auto kFacts = std::to_array<CodeFacts>({
    {"INVALID_PARAMETER_VALUE", 400, "KAM00", "INVALID_PARAMETER_VALUE"},
    {"RESOURCE_ALREADY_EXISTS", 400, "KAM00", "RESOURCE_ALREADY_EXISTS"},
    {"RESOURCE_DOES_NOT_EXIST", 404, "KAM00", "RESOURCE_NOT_FOUND"},
    {"ENDPOINT_NOT_FOUND", 404, "KAM00", "RESOURCE_NOT_FOUND"},
    {"UNAUTHENTICATED", 401, "", ""},
    {"PERMISSION_DENIED", 403, "", ""},
    {"BAD_REQUEST", 400, "", ""},
    // MLflow answers 500 here, and its client then tries for minutes what can never work.
    {"INVALID_STATE", 400, "", ""},
    {"NOT_IMPLEMENTED", 501, "", ""},
    {"REQUEST_LIMIT_EXCEEDED", 429, "", ""},
    {"TEMPORARILY_UNAVAILABLE", 503, "", ""},
    {"RESOURCE_EXHAUSTED", kDiskFull, "", ""},
    {"INTERNAL_ERROR", 500, "XXM00", "CLIENT_INTERNAL_ERROR"},
});

const CodeFacts& facts_of(Code code) {
  return kFacts.at(static_cast<std::size_t>(code));
}

Code code_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Usage:
      return Code::InvalidParameterValue;
    case ErrorKind::NotFound:
      return Code::ResourceDoesNotExist;
    case ErrorKind::Unavailable:
    case ErrorKind::Interrupted:
      return Code::TemporarilyUnavailable;
    case ErrorKind::Io:
      return http::error_response(error).status == kDiskFull ? Code::ResourceExhausted
                                                             : Code::InternalError;
    case ErrorKind::Corrupt:
      break;
  }
  return Code::InternalError;
}

}  // namespace

Fault::Fault(const Error& error)
    : code(code_of(error)),
      message(error.hint.empty() ? error.message : error.message + "; " + error.hint) {}

std::string_view name_of(Code code) {
  return facts_of(code).name;
}

int status_of(Code code) {
  return facts_of(code).status;
}

std::string render_fault(const Fault& fault) {
  const CodeFacts& facts = facts_of(fault.code);
  nlohmann::json body = {{"error_code", facts.name}, {"message", fault.message}};
  if (!facts.sqlstate.empty()) {
    body["sqlstate"] = facts.sqlstate;
    body["error_class"] = facts.error_class;
  }
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Code code_of_status(int status) {
  switch (status) {
    case 401:
      return Code::Unauthenticated;
    case 403:
    case 421:
      return Code::PermissionDenied;
    case 404:
    case 405:
      return Code::EndpointNotFound;
    case 429:
      return Code::RequestLimitExceeded;
    case 501:
      return Code::NotImplemented;
    case 503:
      return Code::TemporarilyUnavailable;
    case kDiskFull:
      return Code::ResourceExhausted;
    default:
      return status < 500 ? Code::BadRequest : Code::InternalError;
  }
}

}  // namespace kedge::mlflow
