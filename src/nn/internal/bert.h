// BERT with a head that tells classes apart (models/bert.cc).
#pragma once

#include <memory>

#include "core/result.h"
#include "nn/bert_shape.h"
#include "nn/model.h"

namespace kedge::nn {

std::unique_ptr<Model> make_bert(const BertShape& shape, std::int64_t classes,
                                 const Making& making);

}  // namespace kedge::nn
