// What tokenizer.json and tokenizer_config.json may say, and how they are refused.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/folder_in_memory.h"
#include "test_paths.h"
#include "text/tokenizer.h"
#include "tiny_tokenizer.h"

namespace d3::text {
namespace {

using test::changed;
using test::tiny_config_json;
using test::tiny_tokenizer_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The tokenizer of files in which `from` became `to`.
Tokenizer with_json(std::string_view from, std::string_view to) {
  return Tokenizer::parse(changed(tiny_tokenizer_json(), from, to), tiny_config_json());
}

Tokenizer with_config(std::string_view config) { return Tokenizer::parse(tiny_tokenizer_json(), config); }

void expect_refused(std::string_view json, std::string_view config, std::string_view file,
                    std::string_view message) {
  try {
    Tokenizer::parse(json, config);
    ADD_FAILURE() << "taken, but should be refused: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadCheckpoint);
    EXPECT_EQ(error.field(), file);
    EXPECT_THAT(error.what(), HasSubstr(std::string(file)));
    EXPECT_THAT(error.what(), HasSubstr(std::string(message)));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
  }
}

void expect_json_refused(std::string_view from, std::string_view to, std::string_view message) {
  SCOPED_TRACE(message);
  expect_refused(changed(tiny_tokenizer_json(), from, to), tiny_config_json(), "tokenizer.json", message);
}

void expect_config_refused(std::string_view config, std::string_view message) {
  SCOPED_TRACE(message);
  expect_refused(tiny_tokenizer_json(), config, "tokenizer_config.json", message);
}

TEST(FilesTest, TakesTheFilesOwnPattern) {
  const auto tokenizer = with_config(tiny_config_json());
  EXPECT_EQ(tokenizer.vocab_size(), 265);
  EXPECT_THAT(tokenizer.encode("hell w中ab"), ElementsAre(258, 259, 260, 262));
  EXPECT_THAT(tokenizer.encode("a<|a|>b<b>"), ElementsAre('a', 263, 'b', 264));
  EXPECT_THAT(tokenizer.encode(""), ElementsAre());
}

TEST(FilesTest, TheClassDecidesThePattern) {
  std::string json = changed(tiny_tokenizer_json(), R"("ab":262)", R"("11":262)");
  json = changed(json, R"(["a","b"])", R"(["1","1"])");
  json = changed(json, R"("Ġw":259)", R"("aÌ":259)");
  json = changed(json, R"(["Ġ","w"])", R"(["a","Ì"])");
  const auto ids = [&](std::string_view config, std::string_view text) {
    return Tokenizer::parse(json, config).encode(text);
  };
  const auto file = [&](std::string_view text) { return ids(tiny_config_json(), text); };
  const auto qwen2 = [&](std::string_view text) {
    return ids(R"({"tokenizer_class":"Qwen2Tokenizer"})", text);
  };
  const auto qwen35 = [&](std::string_view text) {
    return ids(R"({"tokenizer_class":"Qwen3_5TokenizerFast"})", text);
  };
  EXPECT_THAT(file("11"), ElementsAre(262));  // \p{N}{1,3}
  EXPECT_THAT(qwen2("11"), ElementsAre('1', '1'));
  EXPECT_THAT(qwen35("11"), ElementsAre('1', '1'));
  // U+0320, bytes CC A0, a mark that does not join with a.
  EXPECT_THAT(qwen2("a\u0320"), ElementsAre('a', 0xCC, 0xA0));
  EXPECT_THAT(qwen35("a\u0320"), ElementsAre(259, 0xA0));
  EXPECT_EQ(ids("{}", "a\u0320"), qwen35("a\u0320"));
}

TEST(FilesTest, MergesMayBeStrings) {
  EXPECT_THAT(with_json(R"(["h","e"])", R"("h e")").encode("he"), ElementsAre(256));
}

TEST(FilesTest, IgnoreMergesTakesWholeWords) {
  const std::string json =
      changed(tiny_tokenizer_json(), R"(,["a","b"])", "");  // "ab" is a token without a merge
  EXPECT_THAT(Tokenizer::parse(json, tiny_config_json()).encode("ab"), ElementsAre('a', 'b'));
  const std::string ignoring = changed(json, R"("ignore_merges":false)", R"("ignore_merges":true)");
  EXPECT_THAT(Tokenizer::parse(ignoring, tiny_config_json()).encode("ab"), ElementsAre(262));
}

TEST(FilesTest, NormalizerIsNfcOrNone) {
  EXPECT_THAT(with_config(tiny_config_json()).encode("e\u0301"), ElementsAre(0xC3, 0xA9));
  EXPECT_THAT(with_json(R"({"type":"NFC"})", "null").encode("e\u0301"), ElementsAre('e', 0xCC, 0x81));
  EXPECT_THAT(with_json(R"({"type":"NFC"})", R"({"type":"Sequence","normalizers":[{"type":"NFC"}]})")
                  .encode("e\u0301"),
              ElementsAre(0xC3, 0xA9));
  expect_json_refused(R"({"type":"NFC"})", R"({"type":"NFKC"})", "normalizer.type \"NFKC\" is not supported");
  expect_json_refused(R"({"type":"NFC"})", R"({"type":"Sequence","normalizers":[{"type":"Lowercase"}]})",
                      "normalizer.normalizers[0].type \"Lowercase\"");
}

TEST(FilesTest, RefusesOtherPreTokenizers) {
  expect_json_refused(R"("behavior":"Isolated")", R"("behavior":"Removed")",
                      "pre_tokenizer.pretokenizers[0].behavior is not 'Isolated'");
  expect_json_refused(R"("invert":false)", R"("invert":true)",
                      "pre_tokenizer.pretokenizers[0].invert is not supported");
  expect_json_refused(R"({"Regex":)", R"({"String":)",
                      "pre_tokenizer.pretokenizers[0].pattern.Regex is missing");
  expect_json_refused(R"("type":"Split")", R"("type":"Digits")",
                      "pre_tokenizer.pretokenizers[0].type \"Digits\"");
  expect_json_refused(R"("use_regex":false)", R"("use_regex":false,"new":1)",
                      "pre_tokenizer.pretokenizers[1].new is not understood");
  expect_json_refused(R"("pre_tokenizer":)", R"("pre_tokenizer":null,"decoder":)",
                      "pre_tokenizer is missing");
}

TEST(FilesTest, RefusesPatternsItCannotRun) {
  constexpr std::string_view kPattern = R"(\\p{N}{1,3}| ?[^\\s\\p{N}]+|\\s+)";
  for (const auto& [pattern, why] :
       {std::pair{R"(\\d+)", "the escape "}, std::pair{R"(a*?b)", "a quantifier"},
        std::pair{R"((?<x>a))", "an unknown kind of group"},
        std::pair{R"(\\p{Lu}+)", "a property other than"}, std::pair{R"(a*)", "it can match an empty text"},
        std::pair{R"((a))) )", "a `)` without its `(`"}, std::pair{R"([a)", "a `[` without its `]`"},
        std::pair{R"(^a)", "a bare `^`"}, std::pair{R"([[:alpha:]])", "nested classes"},
        std::pair{R"((?i:ss))", "fold to one character"}, std::pair{R"(a{3,2})", "no count"},
        std::pair{R"(a{1,2}+)", "a quantifier"}, std::pair{R"((ab)+)", "a quantifier"}})
    expect_json_refused(kPattern, pattern, why);
}

TEST(FilesTest, RefusesModelsItCannotRun) {
  expect_json_refused(R"("type":"BPE")", R"("type":"Unigram")", "model.type is not 'BPE'");
  expect_json_refused(R"("dropout":null)", R"("dropout":0.1)", "model.dropout is not supported");
  expect_json_refused(R"("continuing_subword_prefix":null)", R"("continuing_subword_prefix":"##")",
                      "model.continuing_subword_prefix is not supported");
  expect_json_refused(R"("end_of_word_suffix":null)", R"("end_of_word_suffix":"</w>")",
                      "model.end_of_word_suffix");
  expect_json_refused(R"("fuse_unk":false)", R"("fuse_unk":false,"cache":1)",
                      "model.cache is not understood");
  expect_json_refused(R"("version":"1.0")", R"("version":"1.0","extra":0)", "extra is not understood");
}

TEST(FilesTest, RefusesBrokenVocabulariesAndMerges) {
  expect_json_refused(R"("a":97,)", R"("中":97,)", "model.vocab: no token for the byte 0x61");
  expect_json_refused(R"("a":97)", R"("a":98)", "is there twice");
  expect_json_refused(R"("a":97)", R"("b":97)", "is there twice");
  expect_json_refused(R"("a":97)", R"("a":-1)", "model.vocab.a is not a token id");
  expect_json_refused(R"("a":97)", R"("a":3000000)", "ids are 0 to 2097151");
  expect_json_refused(R"("a":97)", R"("a":1.5)", "model.vocab.a is not a token id");
  expect_json_refused(R"("a":97)", R"("":97)", "a token is empty");
  expect_json_refused(R"(["h","e"])", R"(["h","z"])", "model.merges[0]: \"h\" and \"z\"");
  expect_json_refused(R"(["h","e"])", R"(["h"])", "model.merges[0] is not a pair");
  expect_json_refused(R"(["h","e"])", R"("he")", "model.merges[0] is not a pair");
  expect_json_refused(R"(["h","e"])", R"("h e l")", "model.merges[0] is not a pair");
  expect_json_refused(R"("merges":)", R"("mergers":)", "model.merges is missing");
}

TEST(FilesTest, RefusesWhatIsNoJson) {
  const std::string json = tiny_tokenizer_json();
  expect_refused(json.substr(0, json.size() / 2), tiny_config_json(), "tokenizer.json", "not valid JSON");
  expect_refused(json + "x", tiny_config_json(), "tokenizer.json", "not valid JSON");
  expect_refused("[]", tiny_config_json(), "tokenizer.json", "not a JSON object");
  expect_refused(json, "", "tokenizer_config.json", "not valid JSON");
  expect_refused(json, R"({"tokenizer_class":1})", "tokenizer_config.json",
                 "tokenizer_class is not a string");
}

// What loading the folder is refused with, which names the file.
std::string refusal_of(const Folder& folder, const std::string& file) {
  try {
    Tokenizer::load(folder);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadCheckpoint);
    EXPECT_EQ(error.field(), file);
    return error.what();
  }
  ADD_FAILURE() << file << " is missing";
  return {};
}

TEST(FilesTest, RefusesMissingFiles) {
  const std::filesystem::path directory = std::filesystem::path(::testing::TempDir()) / "d3_text_files_test";
  std::filesystem::create_directories(directory);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    std::filesystem::remove(directory / "tokenizer_config.json");
    const d3::test::FolderInMemory memory(directory);
    EXPECT_EQ(refusal_of(directory, name), refusal_of(memory.folder(), name));
    std::ofstream(directory / "tokenizer.json") << tiny_tokenizer_json();
  }
  std::ofstream(directory / "tokenizer_config.json") << tiny_config_json();
  EXPECT_EQ(Tokenizer::load(directory).vocab_size(), 265);
  EXPECT_EQ(Tokenizer::load(d3::test::FolderInMemory(directory).folder()).vocab_size(), 265);
  std::filesystem::remove_all(directory);
}

TEST(FilesTest, RefusesIdsThatTheReferenceWouldNotGive) {
  expect_json_refused(R"("id":264)", R"("id":270)",
                      "added_tokens[1] has the id 270, but \"<b>\" would get the id 264");
  expect_config_refused(R"({"tokenizer_class":"X","added_tokens_decoder":{"300":{"content":"<c>"}}})",
                        "added_tokens_decoder.300 has the id 300, but \"<c>\" would get the id 265");
  expect_config_refused(R"({"tokenizer_class":"X","added_tokens_decoder":{"x":{"content":"<c>"}}})",
                        "is not a token id");
  expect_config_refused(
      R"({"tokenizer_class":"X","added_tokens_decoder":{"265":{"content":"c","single_word":true}}})",
      "single_word is not supported");
}

TEST(FilesTest, AddsNamedAndExtraSpecialTokens) {
  const auto tokenizer = with_config(R"({"tokenizer_class":"X","eos_token":"<c>","image_token":"<d>",
                                         "extra_special_tokens":["<e>","ab"]})");
  EXPECT_EQ(tokenizer.vocab_size(), 268);
  EXPECT_THAT(tokenizer.encode("<c><d><e>ab"), ElementsAre(265, 266, 267, 262));
}

TEST(FilesTest, ReadsTheFlagsOfAddedTokens) {
  const auto ids = [](std::string_view flags, std::string_view text) {
    return with_config(
               std::string(R"({"tokenizer_class":"X","added_tokens_decoder":{"263":{"content":"<|a|>")") +
               std::string(flags) + R"(,"special":true}}})")
        .encode(text);
  };
  EXPECT_THAT(ids("", "x <|a|> y"), ElementsAre('x', ' ', 263, ' ', 'y'));
  EXPECT_THAT(ids(R"(,"lstrip":true)", "x \u3000<|a|> y"), ElementsAre('x', 263, ' ', 'y'));
  EXPECT_THAT(ids(R"(,"rstrip":true)", "x <|a|> \n y"), ElementsAre('x', ' ', 263, 'y'));
  EXPECT_THAT(ids(R"(,"normalized":true)", "x<|a|>y"), ElementsAre('x', 263, 'y'));
  EXPECT_THAT(ids(R"(,"lstrip":true,"rstrip":true)", "  <|a|>  <|a|>  "), ElementsAre(263, 263));
}

TEST(FilesTest, NormalizedTokensAreFoundInNormalForm) {
  const auto tokenizer = with_config(
      R"({"tokenizer_class":"X","added_tokens_decoder":{"265":{"content":"e\u0301","normalized":true}}})");
  EXPECT_THAT(tokenizer.encode("x\u00E9e\u0301"), ElementsAre('x', 265, 265));
}

TEST(FilesTest, SplitSpecialTokensReadsThemAsText) {
  const auto tokenizer = with_config(R"({"tokenizer_class":"X","split_special_tokens":true})");
  EXPECT_THAT(tokenizer.encode("<|a|><b>"), ElementsAre('<', '|', 'a', '|', '>', 264));
}

TEST(FilesTest, PrefixSpaceGoesBeforePieces) {
  const auto tokenizer = with_json(R"("add_prefix_space":false)", R"("add_prefix_space":true)");
  EXPECT_THAT(tokenizer.encode("w w"), ElementsAre(259, 259));
  EXPECT_THAT(Tokenizer::parse(tiny_tokenizer_json(), R"({"add_prefix_space":true})").encode("w"),
              ElementsAre(259));
}

TEST(TokenizerTest, RefusesInvalidUtf8) {
  const auto tokenizer = with_config(tiny_config_json());
  for (const char* text : {"\xFF", "a\xC3", "\xED\xA0\x80", "\xC0\x80", "\xF4\x90\x80\x80"}) {
    try {
      tokenizer.encode(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace d3::text
