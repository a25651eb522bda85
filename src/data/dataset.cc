#include "data/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file.h"
#include "core/hash.h"
#include "data/internal/mix.h"
#include "data/internal/split.h"
#include "data/internal/subset.h"
#include "data/storage.h"

namespace kedge::data {
namespace {

Result<void> check_labels(const Dataset& dataset) {
  const auto classes = static_cast<std::int64_t>(dataset.info().class_names.size());
  if (classes == 0) {
    return {};
  }
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const std::int64_t label = dataset.label(i);
    if (label < 0 || label >= classes) {
      return fail(ErrorKind::Corrupt,
                  fmt::format("sample {} has label {}, but there are {} classes (0 to {})",
                              dataset.name(i), label, classes, classes - 1),
                  "the label file is damaged or belongs to other data; get it again");
    }
  }
  return {};
}

// What other programs call our sources, far from the letters of our names.
Result<void> check_name(const std::string& name) {
  struct Word {
    std::string_view word;
    std::string_view source;
  };

  constexpr std::array<Word, 14> kWords = {{{"instruct", "chat"},
                                            {"instruction", "chat"},
                                            {"instructions", "chat"},
                                            {"sft", "chat"},
                                            {"alpaca", "chat"},
                                            {"sharegpt", "chat"},
                                            {"messages", "chat"},
                                            {"conversations", "chat"},
                                            {"chatml", "chat"},
                                            {"dpo", "preference"},
                                            {"pairs", "preference"},
                                            {"jsonl", "text"},
                                            {"json", "text"},
                                            {"bin", "tokens"}}};
  const auto* found = std::ranges::find(kWords, name, &Word::word);
  if (found == kWords.end()) {
    return {};
  }
  return fail(ErrorKind::Usage,
              fmt::format("unknown data source '{}'; did you mean '{}'?", name, found->source),
              "`kedge list data` says what each reads");
}

SplitOptions split_options(const config::DataConfig& config) {
  return {.seed = static_cast<std::uint64_t>(config.split_seed), .stratify = config.stratify};
}

// One split with the user's choice of classes and of data.sample_ratio applied.
Result<std::unique_ptr<Dataset>> select(std::unique_ptr<Dataset> split,
                                        const config::DataConfig& config) {
  if (split == nullptr) {
    return split;
  }
  KEDGE_TRY(check_labels(*split));
  split = KEDGE_TRY(keep_classes(std::move(split), config.classes));
  if (config.sample_ratio < 1) {
    auto indices = choose_fraction(*split, config.sample_ratio, split_options(config));
    split = std::make_unique<Subset>(std::move(split), std::move(indices));
  }
  return split;
}

struct Member {
  std::string label;  // for messages
  double weight = 1;
  SourceSplits splits;
};

Result<Member> open_member(const config::DataConfig& config, std::string label, double weight) {
  SourceSplits splits = KEDGE_TRY(open_source(config));
  Member member{.label = std::move(label), .weight = weight, .splits = {}};
  member.splits.train = KEDGE_TRY(select(std::move(splits.train), config));
  member.splits.test = KEDGE_TRY(select(std::move(splits.test), config));
  if (member.splits.train->size() == 0) {
    return fail(ErrorKind::Usage, fmt::format("data '{}' has no training samples", member.label),
                "check data.path, data.classes and data.context");
  }
  return member;
}

Result<void> check_agreement(const std::vector<Member>& members) {
  const DatasetInfo& first = members.front().splits.train->info();
  for (const Member& member : members) {
    const DatasetInfo& info = member.splits.train->info();
    if (without_size(info.fields) != without_size(first.fields) ||
        info.class_names != first.class_names) {
      return fail(ErrorKind::Usage,
                  fmt::format("data.mix: '{}' and '{}' do not fit together: classes [{}], {} "
                              "channels against classes [{}], {} channels",
                              members.front().label, member.label,
                              fmt::join(first.class_names, ", "), first.image_shape().channels,
                              fmt::join(info.class_names, ", "), info.image_shape().channels),
                  "mix sets with the same classes, or choose common ones with data.classes");
    }
  }
  return {};
}

Result<std::vector<Member>> open_members(const config::DataConfig& config) {
  std::vector<Member> members;
  if (config.mix.empty()) {
    members.push_back(KEDGE_TRY(open_member(config, config.name, 1)));
    return members;
  }
  if (!config.path.empty()) {
    return fail(ErrorKind::Usage, "data.path and data.mix are both given",
                "put the path into data.mix, or leave data.mix out");
  }
  std::set<Path> places;
  for (const auto& [key, weight] : config.mix) {
    if (!(weight > 0) || !std::isfinite(weight)) {
      return fail(ErrorKind::Usage,
                  fmt::format("data.mix: weight {} of '{}' is not above 0", weight, key));
    }
    config::DataConfig one = config;
    if (Sources::all().contains(key)) {
      one.name = key;
    } else {
      one.path = key;
    }
    // A set mixed with itself could have a sample in both training and validation.
    std::error_code ignored;  // what cannot be resolved is not found below
    if (!places.insert(std::filesystem::weakly_canonical(place_of(one), ignored)).second) {
      return fail(ErrorKind::Usage,
                  fmt::format("data.mix names '{}' twice", place_of(one).string()),
                  "name each set once, with the sum of its weights");
    }
    members.push_back(KEDGE_TRY(open_member(one, key, weight)));
  }
  KEDGE_TRY(check_agreement(members));
  return members;
}

// How many samples of each member's training split are held out; nothing: the sets' test splits
// are used.
Result<std::optional<std::vector<std::int64_t>>> held_out_counts(
    const config::DataConfig& config, const std::vector<Member>& members) {
  if (config.val_ratio && config.val_count) {
    return fail(ErrorKind::Usage, "data.val_ratio and data.val_count are both given",
                "keep one of them");
  }
  std::vector<std::int64_t> sizes;
  bool has_test = true;
  for (const Member& member : members) {
    sizes.push_back(member.splits.train->size());
    has_test = has_test && member.splits.test != nullptr;
  }
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (config.val_count) {
    if (*config.val_count >= total) {
      return fail(ErrorKind::Usage,
                  fmt::format("data.val_count is {}, but there are only {} samples to train on",
                              *config.val_count, total),
                  "choose a smaller data.val_count");
    }
    return apportion(*config.val_count, sizes);
  }
  if (has_test && !config.val_ratio) {
    return std::nullopt;
  }
  const double ratio = config.val_ratio.value_or(0.1);
  const auto count = static_cast<std::int64_t>(std::llround(ratio * static_cast<double>(total)));
  if (count >= total) {
    return fail(
        ErrorKind::Usage,
        fmt::format("data.val_ratio {} of {} samples leaves none to train on", ratio, total),
        "choose a smaller data.val_ratio");
  }
  return apportion(count, sizes);
}

}  // namespace

ImageShape DatasetInfo::image_shape() const {
  const FieldInfo* image = find_field(fields, kImage);
  return image == nullptr ? ImageShape{}
                          : ImageShape{image->shape[0], image->shape[1], image->shape[2]};
}

std::int64_t Dataset::index_at(const OrderKey& key, std::int64_t position) const {
  return key.shuffle ? permuted(size(), key.seed, static_cast<std::uint64_t>(key.epoch), position)
                     : position;
}

config::DataConfig data_config(const config::Config& config) {
  config::DataConfig data = config.data;
  const Path model = config.model.file;
  std::error_code ignored;
  const bool has_tokenizer =
      model.extension() == ".gguf" || std::filesystem::exists(model / "tokenizer.json", ignored);
  if (data.tokenizer.empty() && has_tokenizer) {
    data.tokenizer = model.string();
  }
  return data;
}

Result<SourceSplits> open_source(const config::DataConfig& config) {
  KEDGE_TRY(check_name(config.name));
  config::DataConfig placed = config;
  placed.path = place_of(config).string();
  auto splits = KEDGE_TRY(Sources::make("data source", config.name, placed));
  return std::move(*splits);
}

Result<TrainVal> open_data(const config::Config& config) {
  return open_data(data_config(config));
}

Result<TrainVal> open_data(const config::DataConfig& config) {
  std::vector<Member> members = KEDGE_TRY(open_members(config));
  const auto held_out = KEDGE_TRY(held_out_counts(config, members));
  std::vector<std::unique_ptr<Dataset>> trains;
  std::vector<std::unique_ptr<Dataset>> vals;
  std::vector<double> weights;
  for (std::size_t i = 0; i < members.size(); ++i) {
    SourceSplits& splits = members[i].splits;
    if (held_out) {
      const SharedDataset whole = std::move(splits.train);
      Split split = hold_out(*whole, (*held_out)[i], split_options(config));
      splits.train = std::make_unique<Subset>(whole, std::move(split.kept));
      splits.test = std::make_unique<Subset>(whole, std::move(split.held_out));
    }
    if (splits.train->size() == 0) {
      return fail(ErrorKind::Usage,
                  fmt::format("the split leaves no training samples of '{}'", members[i].label),
                  "choose a smaller data.val_ratio or data.val_count");
    }
    trains.push_back(std::move(splits.train));
    vals.push_back(std::move(splits.test));
    weights.push_back(members[i].weight);
  }
  TrainVal data;
  if (config.mix.empty()) {
    data.train = std::move(trains.front());
    data.val = std::move(vals.front());
  } else {
    data.train = std::make_unique<Mix>(std::move(trains), weights);
    data.val = std::make_unique<Joined>(std::move(vals));
  }
  Digest digest;
  digest.add(data.train->digest());
  digest.add(data.val->digest());
  data.digest = digest.text();
  return data;
}

}  // namespace kedge::data
