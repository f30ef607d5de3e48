#include "hub/settings.h"

#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_directory.h"

namespace d3::hub {
namespace {

Settings from(const std::map<std::string, std::string>& variables) {
  return settings_from(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      "/home/u");
}

TEST(HubSettingsTest, HasThePythonClientsDefaults) {
  const Settings settings = from({});
  EXPECT_EQ(settings.endpoint, "https://huggingface.co");
  EXPECT_EQ(settings.cache, "/home/u/.cache/huggingface/hub");
  EXPECT_EQ(settings.token_file, "/home/u/.cache/huggingface/token");
  EXPECT_FALSE(settings.token);
  EXPECT_FALSE(settings.offline);
  EXPECT_TRUE(settings.use_token);
}

TEST(HubSettingsTest, FindsTheCache) {
  EXPECT_EQ(from({{"HF_HOME", "/h"}}).cache, "/h/hub");
  EXPECT_EQ(from({{"HF_HOME", "/h"}}).token_file, "/h/token");
  EXPECT_EQ(from({{"HF_HOME", ""}}).cache, "/home/u/.cache/huggingface/hub");
  EXPECT_EQ(from({{"XDG_CACHE_HOME", "/x"}}).cache, "/x/huggingface/hub");
  EXPECT_EQ(from({{"XDG_CACHE_HOME", "/x"}, {"HF_HOME", "/h"}}).cache, "/h/hub");
  EXPECT_EQ(from({{"HUGGINGFACE_HUB_CACHE", "/old"}, {"HF_HOME", "/h"}}).cache, "/old");
  EXPECT_EQ(from({{"HUGGINGFACE_HUB_CACHE", "/old"}, {"HF_HUB_CACHE", "/new"}}).cache, "/new");
  EXPECT_EQ(from({{"HF_HUB_CACHE", "/new"}, {"HF_TOKEN_PATH", "/t"}}).token_file, "/t");
}

TEST(HubSettingsTest, ExpandsHomeAndVariables) {
  EXPECT_EQ(from({{"HF_HOME", "~/hf"}}).cache, "/home/u/hf/hub");
  EXPECT_EQ(from({{"HF_HOME", "~"}}).cache, "/home/u/hub");
  EXPECT_EQ(from({{"HF_HOME", "$DISK/hf"}, {"DISK", "/disk"}}).cache, "/disk/hf/hub");
  EXPECT_EQ(from({{"HF_HOME", "/${DISK}x/$NONE/$"}, {"DISK", "d"}}).cache, "/dx/$NONE/$/hub");
  EXPECT_EQ(from({{"HF_HOME", "/${DISK"}, {"DISK", "d"}}).cache, "/${DISK/hub");
}

TEST(HubSettingsTest, ReadsSwitches) {
  for (const char* value : {"1", "ON", "yes", "True"}) {
    EXPECT_TRUE(from({{"HF_HUB_OFFLINE", value}}).offline) << value;
    EXPECT_TRUE(from({{"TRANSFORMERS_OFFLINE", value}}).offline) << value;
    EXPECT_FALSE(from({{"HF_HUB_DISABLE_IMPLICIT_TOKEN", value}}).use_token) << value;
  }
  for (const char* value : {"0", "", "off", "2"}) EXPECT_FALSE(from({{"HF_HUB_OFFLINE", value}}).offline);
  EXPECT_EQ(from({{"HF_ENDPOINT", "http://x/"}}).endpoint, "http://x");
  EXPECT_EQ(from({{"HF_HUB_DOWNLOAD_TIMEOUT", "7"}}).stall_timeout, std::chrono::seconds(7));
  EXPECT_EQ(from({{"HF_HUB_DOWNLOAD_TIMEOUT", "soon"}}).stall_timeout, Settings().stall_timeout);
  EXPECT_EQ(from({{"HTTPS_PROXY", "p"}}).https_proxy, "p");
  EXPECT_EQ(from({{"ALL_PROXY", "p"}, {"no_proxy", "q"}}).http_proxy, "p");
}

TEST(HubSettingsTest, FindsTheToken) {
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "token").string();
  EXPECT_EQ(read_token(from({{"HF_TOKEN_PATH", path}})), std::nullopt);
  std::ofstream(path) << " hf_file\n";
  EXPECT_EQ(read_token(from({{"HF_TOKEN_PATH", path}})), "hf_file");
  EXPECT_EQ(read_token(from({{"HF_TOKEN_PATH", path}, {"HF_TOKEN", "hf_env\r\n"}})), "hf_env");
  EXPECT_EQ(read_token(from({{"HUGGING_FACE_HUB_TOKEN", "old"}, {"HF_TOKEN", "hf_env"}})), "hf_env");
  EXPECT_EQ(read_token(from({{"HF_TOKEN_PATH", path}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}})),
            std::nullopt);
  EXPECT_THROW(read_token(from({{"HF_TOKEN", "a\nEvil: header"}})), Error);
}

}  // namespace
}  // namespace d3::hub
