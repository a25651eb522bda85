// The data, transform and loader sections: what is read, how it is prepared, how it is batched.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"

namespace kedge::config {

enum class LabelFrom : std::uint8_t { Folder, Filename };

constexpr std::array<std::string_view, 2> enum_names(LabelFrom) {
  return {"folder", "filename"};
}

enum class OnError : std::uint8_t { Fail, Skip };

constexpr std::array<std::string_view, 2> enum_names(OnError) {
  return {"fail", "skip"};
}

enum class RecordFormat : std::uint8_t { Auto, Alpaca, Sharegpt, Messages, Prompt };

constexpr std::array<std::string_view, 5> enum_names(RecordFormat) {
  return {"auto", "alpaca", "sharegpt", "messages", "prompt"};
}

enum class TrainOn : std::uint8_t { Assistant, All };

constexpr std::array<std::string_view, 2> enum_names(TrainOn) {
  return {"assistant", "all"};
}

enum class TooLong : std::uint8_t { Fail, Cut, Skip };

constexpr std::array<std::string_view, 3> enum_names(TooLong) {
  return {"fail", "cut", "skip"};
}

struct DataConfig {
  std::string name = "cifar10";
  std::string path = "";
  std::string root = "data";
  std::map<std::string, double> mix = {};
  std::optional<double> val_ratio = {};
  std::optional<std::int64_t> val_count = {};
  std::int64_t split_seed = 42;
  bool stratify = true;
  double sample_ratio = 1.0;
  std::vector<std::string> classes = {};
  LabelFrom label_from = LabelFrom::Folder;
  OnError on_error = OnError::Fail;
  std::string text_field = "text";
  std::string label_field = "label";
  std::int64_t context = 256;
  std::string tokenizer = "";
  std::string chat_template = "";
  RecordFormat format = RecordFormat::Auto;
  TrainOn train_on = TrainOn::Assistant;
  TooLong too_long = TooLong::Fail;
  bool pack = true;
  std::int64_t samples = 2048;
  std::int64_t image_size = 32;
  std::int64_t channels = 3;

  void describe(Section& s) {
    s.every_field(Fixed{"the training and validation splits would be others"});
    s.field("name", name, "what kind of data: `kedge list data`");
    s.field("path", path,
            "the data's folder or file; empty: <root>/<name>, as `kedge data get` makes",
            Alias{"data_path"}, kMayChange);  // data may move: its digest is compared
    s.field("root", root, "where `kedge data get` puts data sets");
    s.field("mix", mix,
            "several sets sampled at a ratio: {name or path: weight, ...}; instead of `path`");
    s.field(
        "val_ratio", val_ratio,
        "fraction of the training data held out for validation; empty: the set's own test split, "
        "or 0.1 where it has none",
        between(0, 1));
    s.field("val_count", val_count, "the same as a number of samples", at_least(0));
    s.field("split_seed", split_seed, "seed of the train/validation split (not of training)");
    s.field("stratify", stratify, "keep the class balance in splits and in sample_ratio");
    s.field("sample_ratio", sample_ratio,
            "use only this fraction of the data (0..1], for quick tests",
            Limits{.min = 0, .max = 1, .above_min = true}, Alias{"sample_ratio"});
    s.field("classes", classes,
            "keep only these classes; their order gives the labels. Empty: all, sorted by name");
    s.field("label_from", label_from, "imagefolder: label from the folder or from the file name");
    s.field("on_error", on_error,
            "a file or record that cannot be decoded: fail, or skip and count it", kMayChange);
    s.field("text_field", text_field,
            "text, labelled_text: the field of each JSONL record that holds the text");
    s.field("label_field", label_field, "labelled_text: the field that holds the class",
            InHash::UnlessDefault);
    s.field("context", context, "text: tokens per sample", at_least(2));
    s.field("tokenizer", tokenizer,
            "chat, preference, text, labelled_text: whose tokens and chat template: a folder of "
            "Hugging Face's, a "
            ".gguf file, a tokenizer.json; empty: model.file's (text: bytes where it has none)",
            InHash::UnlessDefault, kMayChange);  // the data's digest names it
    s.field("chat_template", chat_template,
            "chat, preference: a file with the Jinja template to use; empty: the tokenizer's own",
            InHash::UnlessDefault, kMayChange);
    s.field("format", format, "chat: how the records are written; auto: as each file's first one",
            InHash::UnlessDefault);
    s.field("train_on", train_on, "chat: which tokens count in the loss: the assistant's, or all",
            InHash::UnlessDefault);
    s.field("too_long", too_long,
            "chat, preference: a record with more tokens than data.context takes: fail, cut its "
            "end off, or skip it; cut and skipped ones are counted",
            InHash::UnlessDefault);
    s.field("pack", pack,
            "chat, text with a tokenizer: several documents share a sample, none seeing another; "
            "false: one a sample, padded",
            InHash::UnlessDefault);
    s.field("samples", samples, "synthetic: number of samples", between(1, 100'000'000));
    s.field("image_size", image_size, "synthetic: image side in pixels", at_least(1));
    s.field("channels", channels, "synthetic: colour channels", between(1, 4));
  }
};

struct TransformConfig {
  std::vector<std::string> train = {};
  std::vector<std::string> eval = {};
  std::vector<double> mean = {};
  std::vector<double> std = {};

  void describe(Section& s) {
    s.field("train", train,
            "steps on training images, in order, e.g. [random_crop 32 4, flip]: `kedge list "
            "transforms`");
    s.field("eval", eval, "steps on validation and inference images, in order");
    s.field("mean", mean, "per-channel mean of pixels in 0..1; empty: the data set's own");
    s.field("std", std, "per-channel standard deviation; empty: the data set's own", above(0));
  }
};

struct LoaderConfig {
  std::int64_t batch_size = 64;
  std::int64_t eval_batch_size = 0;
  std::int64_t workers = -1;
  std::int64_t prefetch = 4;
  std::optional<bool> pin_memory = {};
  std::optional<bool> resident = {};
  std::optional<bool> nvjpeg = {};
  bool shuffle = true;
  bool drop_last = false;

  void describe(Section& s) {
    s.field("batch_size", batch_size,
            "samples of a batch, all ranks together (dist.batch: per_rank means of each)",
            at_least(1), Alias{"batch_size"},
            Fixed{"the place in the epoch is counted in batches"});
    s.field("eval_batch_size", eval_batch_size, "samples per validation step; 0: batch_size",
            at_least(0));
    s.field("workers", workers, "loader threads; 0: in the training thread, -1: by the machine",
            at_least(-1), Alias{"num_workers"}, InHash::Never);
    s.field("prefetch", prefetch, "batches made ahead", at_least(1), InHash::Never);
    s.field("pin_memory", pin_memory, "page-locked batches for faster copies; empty: with a GPU",
            Alias{"pin_memory"}, InHash::Never);
    s.field("resident", resident,
            "keep all images in the memory of the device that trains and cut batches there; empty: "
            "on a GPU, where they fit and it can do the random transforms (all but resized_crop)");
    s.field(
        "nvjpeg", nvjpeg,
        "on a GPU, have JPEG files decoded by nvJPEG from the second epoch on, to the same pixels; "
        "empty: with at most 8 workers");
    s.field("shuffle", shuffle, "a new order of the training samples every epoch",
            Fixed{"the order of the samples follows from it"});
    s.field("drop_last", drop_last, "leave out a last batch that is not full",
            Fixed{"the place in the epoch is counted in batches"});
  }
};

}  // namespace kedge::config
