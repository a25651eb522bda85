#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "config/data_config.h"
#include "core/file.h"
#include "core/scratch_folder.h"
#include "data/dataset.h"
#include "data/internal/cifar10_files.h"
#include "data/internal/fake_files.h"

namespace kedge::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

config::DataConfig config_of(const std::string& name, const Path& path) {
  config::DataConfig config;
  config.name = name;
  config.path = path.string();
  return config;
}

std::vector<std::int64_t> labels_of(const Dataset& dataset) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    labels.push_back(dataset.label(i));
  }
  return labels;
}

Sample read(const Dataset& dataset, std::int64_t index) {
  Sample sample;
  EXPECT_TRUE(dataset.read(index, sample));
  return sample;
}

std::vector<std::int32_t> read_ids(const Dataset& dataset, std::int64_t index) {
  const std::vector<std::uint8_t> row = read(dataset, index).rows.front();
  std::vector<std::int32_t> ids(row.size() / sizeof(std::int32_t));
  std::memcpy(ids.data(), row.data(), row.size());
  return ids;
}

std::string read_text(const Dataset& dataset, std::int64_t index) {
  std::string text;
  for (const std::int32_t token : read_ids(dataset, index)) {
    text.push_back(static_cast<char>(token));
  }
  return text;
}

std::string packed(const std::string& plain) {
  std::string out(compressBound(plain.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void copy_fixture(const std::string& name, const Path& to) {
  must_write(to, *read_file(Path(KEDGE_FIXTURES) / "data" / name));
}

TEST(Cifar10, reads_the_binary_files_as_interleaved_pixels) {
  const ScratchFolder folder;
  write_small_cifar(folder / "cifar-10-batches-bin");
  const auto parts = open_source(config_of("cifar10", folder.path()));
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_THAT(labels_of(*parts->train), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(labels_of(*parts->test), ElementsAre(3));
  const Sample sample = read(*parts->train, 7);
  ASSERT_EQ(sample.image.pixels.size(), 3072U);
  EXPECT_EQ(sample.image.pixels[0], 107);
  EXPECT_EQ(sample.image.pixels[1], 50);
  EXPECT_EQ(sample.image.pixels[2], 0);
  EXPECT_EQ(sample.image.pixels[3 * 33 + 2], 33);
  EXPECT_EQ(parts->train->name(7), "train/7");
}

TEST(Cifar10, writes_the_binary_files_that_it_reads) {
  const ScratchFolder folder;
  write_small_cifar(folder / "a");
  const auto data = read_cifar10(folder / "a");
  ASSERT_TRUE(data);
  ASSERT_TRUE(make_dirs(folder / "b"));
  ASSERT_TRUE(write_cifar10_binary(*data, folder / "b"));
  for (const char* name : {"data_batch_1.bin", "data_batch_5.bin", "test_batch.bin"}) {
    EXPECT_EQ(*read_file(folder / "a" / name), *read_file(folder / "b" / name)) << name;
  }
  EXPECT_THAT(*read_file(folder / "b" / "batches.meta.txt"), HasSubstr("airplane\nautomobile\n"));
}

TEST(Cifar10, reads_the_images_of_the_npm_package) {
  const auto parts = open_source(config_of("cifar10", Path(KEDGE_FIXTURES) / "data" / "cifar_png"));
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_THAT(labels_of(*parts->train), ElementsAre(4, 3, 2, 1, 0));
  EXPECT_THAT(labels_of(*parts->test), ElementsAre(9));
  const Sample sample = read(*parts->train, 1);
  ASSERT_EQ(sample.image.pixels.size(), 3072U);
  EXPECT_EQ(sample.image.pixels[0], 20);
  EXPECT_EQ(sample.image.pixels[3 * 40 + 1], 20);
  EXPECT_EQ(sample.image.pixels[3 * 40 + 2], 40);
}

TEST(Cifar10, reads_the_pickles_of_python) {
  const ScratchFolder folder;
  const Path fixture = Path(KEDGE_FIXTURES) / "data" / "cifar_py";
  ASSERT_TRUE(make_dirs(folder / "cifar-10-batches-py"));
  std::filesystem::copy(fixture, folder / "cifar-10-batches-py");
  const auto parts = open_source(config_of("cifar10", folder.path()));
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_THAT(labels_of(*parts->train), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(labels_of(*parts->test), ElementsAre(5));
  const Sample sample = read(*parts->train, 3);
  ASSERT_EQ(sample.image.pixels.size(), 3072U);
  EXPECT_EQ(sample.image.pixels[0], 3);
  EXPECT_EQ(sample.image.pixels[1], 103);
  EXPECT_EQ(sample.image.pixels[3 * 1023 + 2], 1023 % 251);
}

TEST(Cifar10, refuses_a_pickle_that_is_cut_or_has_another_label) {
  const ScratchFolder folder;
  const Path fixture = Path(KEDGE_FIXTURES) / "data" / "cifar_py";
  std::filesystem::copy(fixture, folder.path());
  const std::string whole = *read_file(fixture / "data_batch_2");
  must_write(folder / "data_batch_2", whole.substr(0, whole.size() / 2));
  const auto cut = open_source(config_of("cifar10", folder.path()));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(cut.error().message, HasSubstr("data_batch_2: its pickle is damaged"));
  // Without the opcodes that put the one label into its list.
  std::string unlabelled = whole;
  const std::size_t append = unlabelled.find(
      "K\x01"
      "a",
      unlabelled.find("labels"));
  ASSERT_NE(append, std::string::npos);
  unlabelled.replace(append, 3, "");
  must_write(folder / "data_batch_2", unlabelled);
  const auto other = open_source(config_of("cifar10", folder.path()));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("holds 0 labels, but its images are [1, 3072]"));
}

TEST(Cifar10, refuses_a_short_file_and_a_missing_one) {
  const ScratchFolder folder;
  write_small_cifar(folder.path());
  must_write(folder / "data_batch_3.bin", cifar_record(1).substr(0, 3000));
  const auto shortened = open_source(config_of("cifar10", folder.path()));
  ASSERT_FALSE(shortened);
  EXPECT_EQ(shortened.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(shortened.error().message, HasSubstr("data_batch_3.bin"));
  std::filesystem::remove(folder / "data_batch_3.bin");
  const auto missing = open_source(config_of("cifar10", folder.path()));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("data_batch_3.bin"));
  EXPECT_THAT(missing.error().hint, HasSubstr("kedge data get cifar10"));
}

TEST(Mnist, reads_idx_files_plain_and_packed) {
  const ScratchFolder folder;
  write_small_mnist(folder.path());
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  must_write(folder / "train-images-idx3-ubyte.gz", packed(idx_images(4)));
  const auto parts = open_source(config_of("mnist", folder.path()));
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_THAT(labels_of(*parts->train), ElementsAre(5, 0, 4, 9));
  EXPECT_THAT(labels_of(*parts->test), ElementsAre(7, 2));
  const Sample sample = read(*parts->train, 2);
  EXPECT_EQ(sample.image.height, 2);
  EXPECT_EQ(sample.image.width, 3);
  EXPECT_EQ(sample.image.channels, 1);
  EXPECT_THAT(sample.image.pixels, ElementsAre(20, 21, 22, 23, 24, 25));
}

TEST(Mnist, refuses_a_bad_magic_a_short_file_and_a_cut_gzip) {
  const ScratchFolder folder;
  const auto error_with = [&](const std::string& name, const std::string& content) {
    write_small_mnist(folder.path());
    must_write(folder / name, content);
    const auto parts = open_source(config_of("mnist", folder.path()));
    std::filesystem::remove(folder / name);
    EXPECT_FALSE(parts) << name;
    return parts ? Error{} : parts.error();
  };
  const std::string whole = idx_images(4);
  std::string wrong_magic = whole;
  wrong_magic[3] = 1;
  for (const std::string& content :
       {wrong_magic, whole.substr(0, whole.size() - 1), whole.substr(0, 10), std::string()}) {
    const Error error = error_with("train-images-idx3-ubyte", content);
    EXPECT_EQ(error.kind, ErrorKind::Corrupt);
    EXPECT_THAT(error.message, HasSubstr("train-images-idx3-ubyte"));
  }
  EXPECT_EQ(error_with("train-labels-idx1-ubyte", idx_labels({1, 2, 3})).kind, ErrorKind::Corrupt);

  write_small_mnist(folder.path());
  std::filesystem::remove(folder / "t10k-images-idx3-ubyte");
  const std::string gzip = packed(idx_images(2));
  must_write(folder / "t10k-images-idx3-ubyte.gz", gzip.substr(0, gzip.size() - 6));
  const auto cut = open_source(config_of("mnist", folder.path()));
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("t10k-images-idx3-ubyte.gz"));
}

TEST(ImageFolder, labels_by_folder_in_the_order_of_names) {
  const ScratchFolder folder;
  copy_fixture("rgb.png", folder / "train/dog/1.png");
  copy_fixture("photo.jpg", folder / "train/cat/deep/2.JPG");
  copy_fixture("rgb.png", folder / "train/cat/1.png");
  copy_fixture("rgb.png", folder / "train/.hidden/1.png");
  must_write(folder / "train/cat/notes.txt", "no image");
  copy_fixture("rgb.png", folder / "val/dog/9.png");
  const auto parts = open_source(config_of("imagefolder", folder.path()));
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_THAT(parts->train->info().class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(labels_of(*parts->train), ElementsAre(0, 0, 1));
  EXPECT_EQ(parts->train->name(1), "cat/deep/2.JPG");
  ASSERT_NE(parts->test, nullptr);
  EXPECT_THAT(labels_of(*parts->test), ElementsAre(1));
  EXPECT_EQ(read(*parts->train, 2).image.pixels.size(), 23U * 37 * 3);
}

TEST(ImageFolder, labels_by_file_name) {
  const ScratchFolder folder;
  for (const char* name : {"cat.0.png", "cat.1.png", "dog_7.png", "bobcat3.png"}) {
    copy_fixture("rgb.png", folder / name);
  }
  config::DataConfig config = config_of("imagefolder", folder.path());
  config.label_from = config::LabelFrom::Filename;
  const auto all = open_source(config);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(all->train->info().class_names, ElementsAre("bobcat", "cat", "dog"));
  EXPECT_THAT(labels_of(*all->train), ElementsAre(0, 1, 1, 2));

  config.classes = {"dog", "cat"};
  const auto some = open_source(config);
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_THAT(labels_of(*some->train), ElementsAre(1, 1, 1, 0));
  config.classes = {"dog", "bobcat", "cat"};
  EXPECT_THAT(labels_of(*open_source(config)->train), ElementsAre(1, 2, 2, 0));
  config.classes = {"dog", "cow"};
  const auto wrong = open_source(config);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("cow"));
}

TEST(ImageFolder, has_a_digest_that_changes_with_a_byte) {
  const ScratchFolder folder;
  copy_fixture("rgb.png", folder / "a/1.png");
  const config::DataConfig config = config_of("imagefolder", folder.path());
  const std::string before = open_source(config)->train->digest();
  EXPECT_EQ(open_source(config)->train->digest(), before);
  std::string bytes = *read_file(folder / "a/1.png");
  bytes[50] = static_cast<char>(bytes[50] + 1);
  must_write(folder / "a/1.png", bytes);
  EXPECT_NE(open_source(config)->train->digest(), before);
}

TEST(ImageFolder, says_what_to_do_without_images_or_class_folders) {
  const ScratchFolder folder;
  const config::DataConfig config = config_of("imagefolder", folder.path());
  const auto empty = open_source(config);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(empty.error().hint, HasSubstr("data.path"));
  copy_fixture("rgb.png", folder / "1.png");
  const auto flat = open_source(config);
  ASSERT_FALSE(flat);
  EXPECT_THAT(flat.error().hint, HasSubstr("label_from"));
}

TEST(Text, cuts_windows_that_overlap_by_one_byte) {
  const ScratchFolder folder;
  must_write(folder / "corpus.txt", "abcdefghijkl");
  config::DataConfig config = config_of("text", folder / "corpus.txt");
  config.context = 4;
  const auto parts = open_source(config);
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->train->size(), 2);
  EXPECT_EQ(read_text(*parts->train, 0), "abcde");
  EXPECT_EQ(read_text(*parts->train, 1), "efghi");
  EXPECT_EQ(parts->train->info().vocab, 256);
  EXPECT_EQ(parts->test, nullptr);
}

TEST(Text, joins_files_and_records_with_a_zero_byte) {
  const ScratchFolder folder;
  must_write(folder / "a.txt", "AB");
  must_write(folder / "b.jsonl", "{\"text\": \"cd\"}\n\n{\"text\": \"\\u00e9\", \"n\": 1}\n");
  must_write(folder / "c.txt", "");
  must_write(folder / "val.txt", "xyz");
  config::DataConfig config = config_of("text", folder.path());
  config.context = 2;
  const auto parts = open_source(config);
  ASSERT_TRUE(parts) << parts.error().message;
  const std::string all("AB\0cd\0\xC3\xA9", 8);
  ASSERT_EQ(parts->train->size(), 3);
  EXPECT_EQ(read_text(*parts->train, 0), all.substr(0, 3));
  EXPECT_EQ(read_text(*parts->train, 1), all.substr(2, 3));
  EXPECT_EQ(read_text(*parts->train, 2), all.substr(4, 3));
  ASSERT_NE(parts->test, nullptr);
  EXPECT_EQ(read_text(*parts->test, 0), "xyz");
}

TEST(Text, names_the_line_of_a_broken_record_or_skips_it) {
  const ScratchFolder folder;
  must_write(folder / "b.jsonl",
             "{\"text\": \"one\"}\n{\"text\": \"tw\n{\"other\": 3}\n{\"text\": \"x\"}");
  config::DataConfig config = config_of("text", folder.path());
  config.context = 2;
  const auto broken = open_source(config);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(broken.error().message, HasSubstr("b.jsonl:2"));
  config.on_error = config::OnError::Skip;
  const auto skipped = open_source(config);
  ASSERT_TRUE(skipped);
  EXPECT_EQ(read_text(*skipped->train, 1), std::string("e\0x", 3));
}

TEST(Synthetic, is_the_same_every_time_and_differs_by_sample_class_and_part) {
  config::DataConfig config = config_of("synthetic", "");
  config.samples = 40;
  config.image_size = 16;
  const auto parts = open_source(config);
  const auto again = open_source(config);
  ASSERT_TRUE(parts && again);
  EXPECT_EQ(parts->train->size(), 40);
  EXPECT_EQ(parts->test->size(), 10);
  EXPECT_EQ(read(*parts->train, 3).image.pixels, read(*again->train, 3).image.pixels);
  EXPECT_NE(read(*parts->train, 3).image.pixels, read(*parts->train, 13).image.pixels);
  EXPECT_NE(read(*parts->train, 3).image.pixels, read(*parts->test, 3).image.pixels);
  EXPECT_NE(parts->train->digest(), parts->test->digest());
}

// A nearest-mean classifier is the simplest model; chance is 10%.
TEST(Synthetic, can_be_learned) {
  config::DataConfig config = config_of("synthetic", "");
  config.samples = 200;
  config.image_size = 16;
  const auto parts = open_source(config);
  ASSERT_TRUE(parts);
  const std::size_t pixels = 16 * 16 * 3;
  std::vector<std::vector<double>> means(10, std::vector<double>(pixels));
  for (std::int64_t i = 0; i < 200; ++i) {
    const Sample sample = read(*parts->train, i);
    for (std::size_t k = 0; k < pixels; ++k) {
      means[static_cast<std::size_t>(parts->train->label(i))][k] += sample.image.pixels[k] / 20.0;
    }
  }
  int right = 0;
  for (std::int64_t i = 0; i < parts->test->size(); ++i) {
    const Sample sample = read(*parts->test, i);
    std::vector<double> distances;
    for (const auto& mean : means) {
      double distance = 0;
      for (std::size_t k = 0; k < pixels; ++k) {
        distance += (mean[k] - sample.image.pixels[k]) * (mean[k] - sample.image.pixels[k]);
      }
      distances.push_back(distance);
    }
    right +=
        std::ranges::min_element(distances) - distances.begin() == parts->test->label(i) ? 1 : 0;
  }
  EXPECT_GE(right, 45);  // of 50
}

TEST(Sources, name_the_nearest_when_unknown_and_the_command_when_missing) {
  const auto unknown = open_source(config_of("cifar01", ""));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean 'cifar10'"));
  for (const std::string name : {"cifar10", "mnist", "fashion-mnist"}) {
    const auto missing = open_source(config_of(name, "/no/such/folder"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
    EXPECT_THAT(missing.error().message, HasSubstr("/no/such/folder"));
    EXPECT_THAT(missing.error().hint, HasSubstr("kedge data get " + name));
  }
}

template <typename Id>
std::string as_ids(const std::vector<Id>& ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof ids[0]};
}

TEST(Tokens, are_windows_of_16_bit_ids_with_a_vocabulary_of_their_own) {
  const ScratchFolder folder;
  must_write(folder / "train.bin", as_ids<std::uint16_t>({5, 6, 700, 8, 50256, 10}));
  must_write(folder / "val.bin", as_ids<std::uint16_t>({1, 2, 3}));
  config::DataConfig config = config_of("tokens", folder.path());
  config.context = 2;
  const auto parts = open_source(config);
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ(parts->train->info().vocab, 50257);
  EXPECT_EQ(parts->test->info().vocab, 50257);
  ASSERT_EQ(parts->train->size(), 2);
  EXPECT_THAT(read_ids(*parts->train, 1), ElementsAre(700, 8, 50256));
  must_write(folder / "meta.json", R"({"vocab": 50304})");
  EXPECT_EQ(open_source(config)->train->info().vocab, 50304);
}

TEST(Tokens, are_32_bits_wide_where_the_header_says_so) {
  const ScratchFolder folder;
  must_write(folder / "train.bin", as_ids<std::uint32_t>({5, 70000, 2147483647, 65536, 1}));
  must_write(folder / "meta.json", R"({"dtype": "uint32"})");
  config::DataConfig config = config_of("tokens", folder.path());
  config.context = 2;
  const auto wide = open_source(config);
  ASSERT_TRUE(wide) << wide.error().message;
  ASSERT_EQ(wide->train->size(), 2);
  EXPECT_THAT(read_ids(*wide->train, 0), ElementsAre(5, 70000, 2147483647));
  EXPECT_THAT(read_ids(*wide->train, 1), ElementsAre(2147483647, 65536, 1));
  EXPECT_EQ(wide->train->info().vocab, 2147483648);
  must_write(folder / "meta.json", R"({"dtype": "uint16"})");
  const auto narrow = open_source(config);
  ASSERT_TRUE(narrow) << narrow.error().message;
  EXPECT_EQ(narrow->train->size(), 4);
  EXPECT_NE(narrow->train->digest(), wide->train->digest());
}

TEST(Tokens, of_both_widths_can_be_mixed) {
  const ScratchFolder folder;
  must_write(folder / "a/train.bin", as_ids<std::uint16_t>({1, 2, 3, 4, 5}));
  must_write(folder / "b/train.bin", as_ids<std::uint32_t>({6, 70000, 8, 9, 10}));
  must_write(folder / "b/meta.json", R"({"dtype": "uint32"})");
  config::DataConfig config = config_of("tokens", "");
  config.context = 2;
  config.val_count = 0;
  config.mix = {{(folder / "a").string(), 1}, {(folder / "b").string(), 1}};
  const auto data = open_data(config);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->train->info().vocab, 70001);
  EXPECT_THAT(read_ids(*data->train, 1), ElementsAre(3, 4, 5));
  EXPECT_THAT(read_ids(*data->train, 2), ElementsAre(6, 70000, 8));
}

TEST(Tokens, a_mask_beside_the_ids_says_which_predictions_count) {
  const ScratchFolder folder;
  config::DataConfig config = config_of("tokens", folder.path());
  config.context = 2;
  must_write(folder / "train.bin", as_ids<std::uint16_t>({5, 6, 7, 8, 9}));
  const std::string unmasked = open_source(config)->train->digest();
  must_write(folder / "train.mask", std::string("\1\0\1\1\0", 5));
  const auto parts = open_source(config);
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_NE(parts->train->digest(), unmasked);
  EXPECT_EQ(parts->train->info().fields.back(), (FieldInfo{.name = "loss_mask", .shape = {2}}));
  Sample sample;
  ASSERT_TRUE(parts->train->read(1, sample));  // predicts 8 and 9
  EXPECT_THAT(sample.row<std::uint8_t>(1, 2), ElementsAre(1, 0));
  must_write(folder / "train.mask", "\1");
  EXPECT_THAT(open_source(config).error().message, HasSubstr("train.mask: 1 bytes for 5 ids"));
  must_write(folder / "train.mask", std::string(5, '\0'));
  EXPECT_THAT(open_source(config).error().message, HasSubstr("no id counts"));
}

TEST(Tokens, an_id_of_32_bits_is_named_with_its_file_and_place) {
  const ScratchFolder folder;
  std::vector<std::uint32_t> ids(200000, 7);
  must_write(folder / "train.bin", as_ids(ids));
  ids[150001] = 2147483648U;
  must_write(folder / "val.bin", as_ids(ids));
  must_write(folder / "meta.json", R"({"dtype": "uint32", "vocab": 8})");
  const auto wrong = open_source(config_of("tokens", folder.path()));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::Corrupt);
  EXPECT_THAT(wrong.error().message, HasSubstr("val.bin: id 150001 is 2147483648"));
}

TEST(Tokens, files_that_do_not_fit_are_refused) {
  const ScratchFolder folder;
  config::DataConfig config = config_of("tokens", folder.path());
  config.context = 2;
  EXPECT_EQ(open_source(config).error().kind, ErrorKind::NotFound);
  must_write(folder / "train.bin", "abc");
  EXPECT_THAT(open_source(config).error().message, HasSubstr("3 bytes"));
  must_write(folder / "train.bin", as_ids<std::uint16_t>({1, 9, 3}));
  must_write(folder / "meta.json", R"({"vocab": 9})");
  EXPECT_THAT(open_source(config).error().message, HasSubstr("an id is 9"));
  must_write(folder / "meta.json", R"({"dtype": "uint32"})");
  EXPECT_THAT(open_source(config).error().message, HasSubstr("6 bytes are no whole number of 32"));
  for (const std::string meta :
       {"{}", R"({"dtype": "int64"})", R"({"dtype": "uint16", "vocab": "9"})", "[]"}) {
    must_write(folder / "meta.json", meta);
    EXPECT_EQ(open_source(config).error().kind, ErrorKind::Corrupt) << meta;
  }
}

}  // namespace
}  // namespace kedge::data
