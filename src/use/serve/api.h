// The routes of a served model.
#pragma once

#include <optional>
#include <string>

#include "http/http.h"
#include "use/internal/chat_prompts.h"
#include "use/language_model.h"
#include "use/serve/model_thread.h"

namespace kedge::use {

// What the routes work with; it outlives them.
struct ServedModel {
  const LanguageModel& model;
  std::string name;
  Result<ChatPrompts> chat;  // or why there is none
  ModelThread& thread;
  std::int64_t started_s = 0;
};

void add_routes(http::Router& router, const ServedModel& served);

}  // namespace kedge::use
