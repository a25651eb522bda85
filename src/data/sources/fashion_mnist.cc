#include "config/data_config.h"
#include "data/dataset.h"
#include "data/internal/idx_source.h"

namespace kedge::data {
namespace {

const Sources::Add kAddFashionMnist(
    {"fashion-mnist",
     "Fashion-MNIST: 70,000 grey images of 28x28, ten kinds of clothing",
     [](const config::DataConfig& config) {
       return open_idx(
           config, {.title = "Fashion-MNIST",
                    .class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal",
                                    "Shirt", "Sneaker", "Bag", "Ankle boot"},
                    .mean = 0.2860,
                    .std = 0.3530});
     },
     {"path"}});

}  // namespace
}  // namespace kedge::data
