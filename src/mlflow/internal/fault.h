// What goes wrong in an MLflow call: an error code that its clients know, and a message that they
// show and their users match on. An Error of ours becomes one by itself.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace kedge::mlflow {

enum class Code : std::uint8_t {
  InvalidParameterValue,
  ResourceAlreadyExists,
  ResourceDoesNotExist,
  EndpointNotFound,
  Unauthenticated,
  PermissionDenied,
  BadRequest,
  InvalidState,
  NotImplemented,
  RequestLimitExceeded,
  TemporarilyUnavailable,
  ResourceExhausted,
  InternalError,
};

struct Fault {
  Code code = Code::InternalError;
  std::string message;

  Fault(Code code_of_it, std::string text) : code(code_of_it), message(std::move(text)) {}

  // What a user can mend is never a 5xx: the client would try it again for minutes.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Fault(const Error& error);
};

template <typename T>
using Outcome = std::expected<T, Fault>;

inline std::unexpected<Fault> refuse(Code code, std::string message) {
  return std::unexpected(Fault(code, std::move(message)));
}

// INVALID_PARAMETER_VALUE, which most are.
inline std::unexpected<Fault> refuse(std::string message) {
  return refuse(Code::InvalidParameterValue, std::move(message));
}

std::string_view name_of(Code code);  // "INVALID_PARAMETER_VALUE"
int status_of(Code code);             // 400

// The body: {"error_code", "message", "sqlstate", "error_class"}.
std::string render_fault(const Fault& fault);

// The code for a status that the listener or the gate answered with.
Code code_of_status(int status);

}  // namespace kedge::mlflow
