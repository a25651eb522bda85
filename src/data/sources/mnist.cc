#include "config/data_config.h"
#include "data/dataset.h"
#include "data/internal/idx_source.h"

namespace kedge::data {
namespace {

const Sources::Add kAddMnist({"mnist",
                              "MNIST: 70,000 grey images of 28x28, the digits 0 to 9",
                              [](const config::DataConfig& config) {
                                return open_idx(config, {.title = "MNIST",
                                                         .class_names = {"0", "1", "2", "3", "4",
                                                                         "5", "6", "7", "8", "9"},
                                                         .mean = 0.1307,
                                                         .std = 0.3081});
                              },
                              {"path"}});

}  // namespace
}  // namespace kedge::data
