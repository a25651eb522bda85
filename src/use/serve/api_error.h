// What is wrong with a request, as OpenAI's clients are told.
#pragma once

#include <expected>
#include <string>

#include "core/result.h"
#include "http/http.h"

namespace kedge::use {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {};  // the field that is wrong
  std::string code = {};
};

template <typename T>
using Asked = std::expected<T, ApiError>;

inline std::unexpected<ApiError> refuse_field(std::string param, std::string message) {
  return std::unexpected(
      ApiError{.status = 400, .message = std::move(message), .param = std::move(param)});
}

// {"error": {"message", "type", "param", "code"}}
std::string render_error(const ApiError& error);
http::Response error_answer(const ApiError& error);
// http::RefusalWriter of all routes.
http::Response refuse_as_openai(int status, const http::Refusal& refusal);

// Of what kedge says is wrong. `param`: the field that it is about.
ApiError api_error(const Error& error, std::string param = {});

}  // namespace kedge::use
