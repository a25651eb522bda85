// `kedge serve`: a language model behind OpenAI's API.
#pragma once

#include <cstdint>
#include <string>

#include "core/file.h"
#include "core/result.h"
#include "http/listener.h"
#include "use/language_model.h"

namespace kedge::use {

struct ServeOptions {
  LanguageModelOptions model;
  http::ListenOptions listen = {};
  Path tokens = {};          // who may ask; empty: whoever is on this machine
  std::string name = {};     // of the model in requests; empty: its file's
  std::int64_t slots = 4;    // texts that advance together
  std::int64_t context = 0;  // tokens that each has room for; 0: 4096, or what the model takes
  std::int64_t queue = 64;   // texts that may wait
  bool as_json = false;
};

// Prints its address when it answers, and returns after SIGTERM or SIGINT. Usage: without tokens it
// would be open to others than this machine.
Result<void> run_serve(const ServeOptions& options);

}  // namespace kedge::use
