// Documents that were read become samples, with the numbers that a person wants to see.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/chat/chat_format.h"
#include "data/dataset.h"
#include "data/internal/record_documents.h"

namespace kedge::data {

struct WindowMaking {
  const ChatFormat& format;
  const config::DataConfig& config;
  std::vector<std::string> files;
  std::string kind;  // of the records: "alpaca"
};

std::unique_ptr<Dataset> make_windows(RecordDocuments read, const WindowMaking& making);

// What the tokens came about with, for digests.
std::string name_making(const ChatFormat& format, const config::DataConfig& config);

}  // namespace kedge::data
