#include "hub/model_name.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::hub {
namespace {

bool is_refused(std::string_view text, std::string_view revision = {}) {
  try {
    parse_model_name(text, revision);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return true;
  }
}

TEST(ModelNameTest, ReadsNames) {
  EXPECT_EQ(parse_model_name("vllm-sr/d3-nano"), (ModelName{"vllm-sr/d3-nano", "main"}));
  EXPECT_EQ(parse_model_name("a/b@v1.0"), (ModelName{"a/b", "v1.0"}));
  EXPECT_EQ(parse_model_name("a/b@refs/pr/1"), (ModelName{"a/b", "refs/pr/1"}));
  EXPECT_EQ(parse_model_name("a/b", "dev"), (ModelName{"a/b", "dev"}));
  EXPECT_EQ(parse_model_name("a/b@v1", "dev"), (ModelName{"a/b", "v1"}));
  EXPECT_EQ(parse_model_name("Foo-BAR_foo.bar123"), (ModelName{"Foo-BAR_foo.bar123", "main"}));
}

TEST(ModelNameTest, KnowsThePublishedNames) {
  EXPECT_EQ(parse_model_name("d3-nano").repo, "vllm-sr/d3-nano");
  EXPECT_EQ(parse_model_name("d3@v2"), (ModelName{"vllm-sr/d3", "v2"}));
  EXPECT_EQ(parse_model_name("d4").repo, "d4");
  EXPECT_EQ(published_repo("nano"), "");
}

// The examples of huggingface_hub's validator, and what could leave the cache.
TEST(ModelNameTest, RefusesWhatIsNoName) {
  for (const char* text : {"",         "/",
                           "a/",       "/b",
                           "a/b/c",    "datasets/foo/bar",
                           ".repo_id", "foo--bar",
                           "foo.git",  "other..repo..id",
                           "..",       "../a",
                           "a/..",     "-a/b",
                           "a/b-",     "a b",
                           "a/b\n",    "caf\xc3\xa9/x",
                           "a/b@",     "a/b@..",
                           "a/b@../x", "a/b@/x",
                           "a/b@x/",   "a/b@x y",
                           "a/b@x@y"})
    EXPECT_TRUE(is_refused(text)) << text;
  EXPECT_TRUE(is_refused(std::string_view("a/b\0c", 5)));
  EXPECT_TRUE(is_refused(std::string(97, 'a')));
  EXPECT_FALSE(is_refused(std::string(96, 'a')));
  EXPECT_TRUE(is_refused("a/b", "../../x"));
  EXPECT_TRUE(is_refused("a/b@" + std::string(300, 'x')));
}

TEST(ModelNameTest, WritesNames) {
  EXPECT_EQ(to_text({"a/b", "main"}), "a/b");
  EXPECT_EQ(to_text({"a/b", "v1"}), "a/b@v1");
  EXPECT_TRUE(is_commit("0123456789abcdef0123456789ABCDEF01234567"));
  EXPECT_FALSE(is_commit("0123456789abcdef0123456789abcdef0123456"));
  EXPECT_FALSE(is_commit("0123456789abcdef0123456789abcdef0123456x"));
}

}  // namespace
}  // namespace d3::hub
