#include "nn/onnx_export.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include "nn/decoder.h"
#include "nn/script_model.h"

namespace kedge::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A field of a protobuf message: a number, or the bytes of a text or an inner message.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

// Reads the wire format by its specification, apart from the writer under test.
class Fields {
 public:
  explicit Fields(std::string_view message) {
    while (!message.empty()) {
      const std::uint64_t key = varint(message);
      Field field{.number = key >> 3U, .value = 0, .bytes = {}};
      if ((key & 7U) == 0) {
        field.value = varint(message);
      } else {
        const std::uint64_t size = (key & 7U) == 2 ? varint(message) : 4;
        field.bytes = message.substr(0, size);
        message.remove_prefix(size);
      }
      fields_.push_back(field);
    }
  }

  std::vector<Field> all(std::uint64_t number) const {
    std::vector<Field> found = fields_;
    std::erase_if(found, [&](const Field& field) { return field.number != number; });
    return found;
  }

  Field one(std::uint64_t number) const {
    const std::vector<Field> found = all(number);
    EXPECT_EQ(found.size(), 1U) << "field " << number;
    return found.empty() ? Field{} : found.front();
  }

 private:
  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= (byte & std::uint64_t{0x7F}) << shift;
      if (byte < 0x80) {
        break;
      }
    }
    return value;
  }

  std::vector<Field> fields_;
};

// Field numbers of onnx.proto.
constexpr std::uint64_t kGraph = 7;
constexpr std::uint64_t kNode = 1;
constexpr std::uint64_t kInitializer = 5;

std::vector<std::string> node_types(const Fields& graph) {
  std::vector<std::string> types;
  for (const Field& node : graph.all(kNode)) {
    types.emplace_back(Fields(node.bytes).one(4).bytes);
  }
  return types;
}

std::map<std::string, std::string_view> initializers(const Fields& graph) {
  std::map<std::string, std::string_view> found;
  for (const Field& initializer : graph.all(kInitializer)) {
    const Fields tensor(initializer.bytes);
    EXPECT_TRUE(found.emplace(tensor.one(8).bytes, tensor.one(9).bytes).second);
  }
  return found;
}

// "batch" for a free axis, the size for the others.
std::vector<std::string> shape_of(const Field& value_info) {
  const Fields type(Fields(Fields(value_info.bytes).one(2).bytes).one(1).bytes);
  std::vector<std::string> shape;
  for (const Field& dimension : Fields(type.one(2).bytes).all(1)) {
    const Fields fields(dimension.bytes);
    shape.push_back(fields.all(2).empty() ? std::to_string(fields.one(1).value)
                                          : std::string(fields.one(2).bytes));
  }
  return shape;
}

// A path that is free, and is again after the test.
class OnnxExport : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(file_); }

  void TearDown() override { std::filesystem::remove(file_); }

  std::string written(Model& model, const Signature& signature) {
    const auto result = write_onnx(model, signature, R"({"classes":["a"]})", file_);
    EXPECT_TRUE(result) << result.error().message;
    return read_file(file_).value_or("");
  }

  static constexpr Signature kTask{.height = 4, .width = 4, .channels = 1, .classes = 3};

  void expect_refused(Model& model, const std::string& message,
                      const Signature& signature = kTask) {
    const auto result = write_onnx(model, signature, "{}", file_);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::Usage);
    EXPECT_THAT(result.error().message, HasSubstr(message));
    EXPECT_THAT(result.error().hint, HasSubstr(".pt"));
    EXPECT_FALSE(std::filesystem::exists(file_));
  }

  const Path file_ =
      std::filesystem::temp_directory_path() / ("export." + std::to_string(getpid()) + ".onnx");
};

// A model that is one expression.
class Expression : public Model {
 public:
  using Forward = std::function<at::Tensor(const at::Tensor& input)>;

  explicit Expression(Forward forward, std::int64_t size = 1)
      : forward_(std::move(forward)), weight_(torch::empty({size})) {}

  at::Tensor forward(const ModelInput& input) override { return forward_(input.x); }

  NamedTensors parameters() const override { return {{"fc.weight", weight_}}; }

  NamedTensors buffers() const override { return {}; }

  void set_training(bool /*is_training*/) override {}

  void to(at::Device /*device*/) override {}

  void to(at::ScalarType /*type*/) override {}

 private:
  Forward forward_;
  at::Tensor weight_;
};

std::unique_ptr<Model> small_model(const std::string& name, const Signature& signature) {
  config::ModelConfig config;
  config.name = name;
  config.hidden = {5};
  config.layers = 2;
  config.width = 48;
  auto model = make_model(config, signature);
  return model ? std::move(*model) : nullptr;
}

TEST_F(OnnxExport, names_itself_and_carries_the_metadata) {
  const auto model = small_model("mlp", kTask);
  const std::string bytes = written(*model, kTask);
  const Fields file(bytes);
  EXPECT_EQ(file.one(1).value, 8U);
  EXPECT_EQ(file.one(2).bytes, "kedge");
  EXPECT_EQ(Fields(file.one(8).bytes).one(2).value, 17U);
  const Fields entry(file.one(14).bytes);
  EXPECT_EQ(entry.one(1).bytes, kOnnxMetadataKey);
  EXPECT_EQ(entry.one(2).bytes, R"({"classes":["a"]})");
}

TEST_F(OnnxExport, has_the_networks_layers_with_a_free_batch_axis) {
  const auto model = small_model("mlp", kTask);
  const std::string bytes = written(*model, kTask);
  const Fields graph(Fields(bytes).one(kGraph).bytes);
  EXPECT_THAT(node_types(graph), ElementsAre("Reshape", "Gemm", "Relu", "Gemm", "Identity"));
  EXPECT_EQ(Fields(graph.one(11).bytes).one(1).bytes, "input");
  EXPECT_THAT(shape_of(graph.one(11)), ElementsAre("batch", "1", "4", "4"));
  EXPECT_EQ(Fields(graph.one(12).bytes).one(1).bytes, "output");
  EXPECT_THAT(shape_of(graph.one(12)), ElementsAre("batch", "3"));
}

TEST_F(OnnxExport, frees_the_length_of_texts_too) {
  const Signature signature{.context = 8, .vocab = 16};
  const auto model = small_model("gpt-nano", signature);
  const std::string bytes = written(*model, signature);
  const Fields graph(Fields(bytes).one(kGraph).bytes);
  EXPECT_THAT(shape_of(graph.one(11)), ElementsAre("batch", "tokens"));
  EXPECT_THAT(shape_of(graph.one(12)), ElementsAre("batch", "tokens", "16"));
}

// Equal tensors stay apart: a fresh model has many.
TEST_F(OnnxExport, holds_every_model_with_its_tensors_under_their_names) {
  for (const auto& [name, entry] : Models::all()) {
    Signature signature{.height = 64, .width = 64, .channels = 3, .classes = 4};
    std::unique_ptr<Model> model = small_model(std::string(name), signature);
    for (const std::int64_t classes : {0, 4}) {
      if (!model) {
        signature = {.classes = classes, .context = 8, .vocab = 16};
        model = small_model(std::string(name), signature);
      }
    }
    ASSERT_TRUE(model) << name;
    if (dynamic_cast<Decoder*>(model.get()) != nullptr && !name.starts_with("gpt")) {
      // Llama's family is written as folders of Hugging Face's.
      std::filesystem::remove(file_);
      expect_refused(*model, "aten::", signature);
      continue;
    }
    const std::string bytes = written(*model, signature);
    const Fields graph(Fields(bytes).one(kGraph).bytes);
    const auto stored = initializers(graph);
    for (const NamedTensors& list : {model->parameters(), model->buffers()}) {
      for (const auto& [tensor_name, tensor] : list) {
        if (tensor_name.ends_with("num_batches_tracked")) {
          continue;  // only training counts
        }
        ASSERT_TRUE(stored.contains(tensor_name)) << name << " " << tensor_name;
        const std::string_view raw = stored.at(tensor_name);
        ASSERT_EQ(raw.size(), tensor.nbytes());
        EXPECT_EQ(std::memcmp(raw.data(), tensor.const_data_ptr(), raw.size()), 0) << tensor_name;
      }
    }
  }
}

TEST_F(OnnxExport, takes_a_module_from_python) {
  const Signature signature{.height = 8, .width = 8, .channels = 1, .classes = 3};
  const auto model = load_script_model(Path(KEDGE_FIXTURES) / "nn/scripted.pt", signature).value();
  const std::string bytes = written(*model, signature);
  const Fields graph(Fields(bytes).one(kGraph).bytes);
  EXPECT_THAT(node_types(graph),
              ElementsAre("Conv", "BatchNormalization", "Relu", "Reshape", "Gemm", "Identity"));
  EXPECT_TRUE(initializers(graph).contains("conv.weight"));
}

TEST_F(OnnxExport, refuses_an_unknown_operation_by_name) {
  Expression model([](const at::Tensor& input) { return input.sin().flatten(1); });
  expect_refused(model, "does not know the operation aten::sin");
}

TEST_F(OnnxExport, refuses_forms_that_it_would_get_wrong) {
  Expression pool([](const at::Tensor& input) {
    return torch::max_pool2d(input, 3, 2, 1, 1, /*ceil_mode=*/true).flatten(1);
  });
  expect_refused(pool, "aten::max_pool2d with ceil_mode");
  Expression factor([](const at::Tensor& input) { return input.add(input, 2).flatten(1); });
  expect_refused(factor, "aten::add with alpha");
  Expression rank([](const at::Tensor& input) { return input.relu(); });
  expect_refused(rank, "scores of rank 2, not 4");
}

TEST_F(OnnxExport, refuses_a_change_that_another_view_sees) {
  Expression model([](const at::Tensor& input) {
    const at::Tensor scores = input.relu().flatten(1);
    scores.select(1, 0).add_(1);
    return scores;
  });
  expect_refused(model, "aten::add_");
}

TEST_F(OnnxExport, refuses_what_no_file_can_hold) {
  // Never touched, so that it takes no memory.
  Expression model([](const at::Tensor& input) { return input; }, std::int64_t{1} << 29U);
  expect_refused(model, "2.0 GiB, but an ONNX file holds less than 2 GiB");
}

TEST_F(OnnxExport, says_where_it_cannot_write) {
  const auto model = small_model("mlp", kTask);
  const Path file = file_ / "inside" / "model.onnx";
  const auto result = write_onnx(*model, kTask, "{}", file);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(result.error().message, HasSubstr(file.parent_path().string()));
}

}  // namespace
}  // namespace kedge::nn
