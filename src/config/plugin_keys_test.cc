#include "config/plugin_keys.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/render.h"
#include "core/scratch_folder.h"

namespace kedge::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// As if there were three optimizers; lr and the others that none lists are common.
PluginKeys optimizers(const Config& config) {
  PluginKeys keys{.section = "optimizer",
                  .chosen = config.optimizer.name,
                  .chosen_by = "name",
                  .read = {},
                  .readers = {{"beta1", {"adamw"}},
                              {"momentum", {"rmsprop", "sgd"}},
                              {"alpha", {"rmsprop"}},
                              {"nesterov", {"sgd"}},
                              {"rest_momentum", {"muon"}}}};
  for (const auto& [key, readers] : keys.readers) {
    if (std::ranges::count(readers, keys.chosen) > 0) {
      keys.read.insert(key);
    }
  }
  return keys;
}

std::vector<std::string> unread(const LoadOptions& options) {
  const auto config = load_config(options);
  EXPECT_TRUE(config) << config.error().message;
  std::vector<std::string> messages;
  for (const UnreadKey& key : find_unread_keys(*config, optimizers(**config))) {
    messages.push_back((key.is_overruled ? "note: " : "") + key.message);
  }
  return messages;
}

class PluginKeysTest : public testing::Test {
 protected:
  Path write(const std::string& text) const {
    const Path file = folder_.path() / "config.yaml";
    EXPECT_TRUE(write_file_atomic(file, text));
    return file;
  }

  ScratchFolder folder_;
};

TEST_F(PluginKeysTest, a_key_of_another_plugin_is_named_with_its_place_and_the_nearest_own_keys) {
  const Path file = write("optimizer:\n  name: rmsprop\n  rest_momentum: 0.5\n  lr: 0.1\n");
  EXPECT_THAT(
      unread({.file = file}),
      ElementsAre(file.string() + ":3: optimizer.rest_momentum: rmsprop does not read it; did "
                                  "you mean momentum, alpha?"));
  EXPECT_THAT(unread({.file = file, .overrides = {"optimizer.name=muon"}}), IsEmpty());
  EXPECT_THAT(unread({.overrides = {"optimizer.name=lion", "optimizer.beta1=0.9"}}),
              ElementsAre("command line: optimizer.beta1: lion does not read it; it has no keys of "
                          "its own"));
  EXPECT_THAT(unread({.environment = {{"KEDGE__OPTIMIZER__ALPHA", "0.5"}}}),
              ElementsAre("$KEDGE__OPTIMIZER__ALPHA: optimizer.alpha: adamw does not read it; did "
                          "you mean beta1?"));
}

TEST_F(PluginKeysTest, what_no_person_wrote_for_this_run_is_no_mistake) {
  const std::string text = "optimizer: {name: sgd, beta1: 0.5}\n";
  EXPECT_THAT(unread({.text = text}), IsEmpty()) << "a recorded config";
  EXPECT_THAT(unread({.text = text, .overrides = {"optimizer.beta1=0.6"}}), testing::SizeIs(1));
  const std::string recorded = render_effective(load_config({.text = text}).value());
  EXPECT_THAT(unread({.file = write(recorded)}), IsEmpty()) << "a recorded config, as a file";
  EXPECT_THAT(unread({.file = write(text)}), testing::SizeIs(1));
}

TEST_F(PluginKeysTest, a_files_keys_are_for_the_plugin_that_the_file_chooses) {
  const Path file = write("optimizer: {name: adamw, beta1: 0.5}\n");
  const std::string note = "note: " + file.string() + ":1: optimizer.beta1: sgd does not read it";
  EXPECT_THAT(unread({.file = file, .overrides = {"optimizer.name=sgd"}}), ElementsAre(note));
  EXPECT_THAT(unread({.file = file,
                      .environment = {{"KEDGE__OPTIMIZER__NAME", "sgd"}},
                      .overrides = {"optimizer.alpha=0.5"}}),
              ElementsAre("command line: optimizer.alpha: sgd does not read it; did you mean "
                          "momentum, nesterov?",
                          note));
}

TEST_F(PluginKeysTest, a_sweep_tries_plugins_with_the_keys_of_all) {
  const Path file = write("optimizer: {beta1: 0.5}\n");
  EXPECT_THAT(unread({.file = file, .sweep_values = R"({"optimizer.name": "sgd"})"}), IsEmpty());
  const std::string values = R"({"optimizer.name": "sgd", "optimizer.alpha": 0.25})";
  EXPECT_THAT(unread({.sweep_values = values,
                      .overrides = {"--optimizer.alpha=0.25", "--optimizer.name=sgd"}}),
              IsEmpty())
      << "an agent repeats the values as arguments";
  EXPECT_THAT(unread({.file = write("optimizer: {name: sgd}\n"),
                      .sweep_values = R"({"optimizer.beta1": 0.5})"}),
              IsEmpty());
}

TEST_F(PluginKeysTest, what_a_workshop_file_implies_is_no_mistake) {
  const auto config = load_config({.file = write("model_name: simplecnn\n")});
  ASSERT_TRUE(config);
  EXPECT_EQ((*config)->model.stem, Stem::Imagenet);
  EXPECT_EQ(config->find("model.name")->layer, Layer::File);
  EXPECT_EQ(config->find("model.stem")->layer, Layer::Implied);
}

TEST_F(PluginKeysTest, one_unread_key_is_refused_with_who_reads_it) {
  EXPECT_TRUE(refuse_unread_keys({{"a.b", "a.b: no", {"x"}, /*is_overruled=*/true}}));
  const auto refused = refuse_unread_keys({{"a.b", "config.yaml:1: a.b: no", {"x", "y"}, false}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Usage);
  EXPECT_EQ(refused.error().message, "config.yaml:1: a.b: no");
  EXPECT_EQ(refused.error().hint, "leave it out, or choose what reads it: x, y");
}

}  // namespace
}  // namespace kedge::config
