#include "train/plugins.h"

#include "nn/loss.h"
#include "nn/model.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace kedge::train {
namespace {

template <typename Plugins>
NamesAndSummaries entries_of() {
  NamesAndSummaries list;
  for (const auto& [name, entry] : Plugins::all()) {
    list.emplace_back(name, entry.summary);
  }
  return list;
}

}  // namespace

NamesAndSummaries list_plugins(const std::string& kind) {
  if (kind == "models") {
    return entries_of<nn::Models>();
  }
  if (kind == "losses") {
    return entries_of<nn::Losses>();
  }
  if (kind == "optimizers") {
    return entries_of<Optimizers>();
  }
  if (kind == "schedules") {
    return entries_of<Schedules>();
  }
  return {};
}

}  // namespace kedge::train
