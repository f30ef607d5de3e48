#include "checkpoint/safetensors.h"

#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/refusal.h"

namespace d3::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kFile = "dir/model.safetensors";

std::string length_bytes(uint64_t length) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(length >> shift);
  return bytes;
}

std::string file_of(const std::string& header, size_t data_bytes) {
  return length_bytes(header.size()) + header + std::string(data_bytes, 'x');
}

std::vector<TensorEntry> read(const std::string& file) {
  return read_safetensors_header(std::as_bytes(std::span(file.data(), file.size())), kFile);
}

/// A header of 1 tensor t with the given dtype, shape and offsets, padded so that its data begins at a
/// multiple of 8.
std::string one_tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  std::string header =
      R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

TEST(Safetensors, ReadsEntriesInTheOrderOfTheirBytes) {
  const std::string header =
      R"({"b":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},"c":{"dtype":"F64","shape":[],"data_offsets":[12,20]},)"
      R"("e":{"dtype":"I8","shape":[3,0],"data_offsets":[20,20]}})";
  const std::string padded = header + std::string((12 - header.size() % 8) % 8, ' ');
  const std::vector<TensorEntry> entries = read(file_of(padded, 20));
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].dtype, "BF16");
  EXPECT_THAT(entries[0].shape, ElementsAre(2));
  EXPECT_EQ(entries[0].begin, 8 + padded.size());
  EXPECT_EQ(entries[0].end, 12 + padded.size());
  EXPECT_EQ(entries[1].name, "b");
  EXPECT_THAT(entries[1].shape, ElementsAre(2, 1));
  EXPECT_EQ(entries[2].name, "c");
  EXPECT_THAT(entries[2].shape, IsEmpty());
  EXPECT_EQ(entries[3].name, "e");
}

TEST(Safetensors, AFileMayHoldNoTensor) { EXPECT_THAT(read(file_of("{}", 0)), IsEmpty()); }

TEST(Safetensors, RefusesBrokenHeaders) {
  struct Bad {
    std::string file;
    std::string message;
  };
  const std::vector<Bad> table = {
      {"", "is truncated: 0 bytes hold no header"},
      {"1234567", "is truncated: 7 bytes"},
      {length_bytes(2) + "{", "is truncated: its header has 2 bytes, the file 9"},
      {length_bytes(uint64_t{1} << 63),
       "has a header of 9223372036854775808 bytes; at most 100000000 are allowed"},
      {length_bytes(100'000'001), "has a header of 100000001 bytes"},
      {file_of("", 0), "has an unreadable header"},
      {file_of("{", 0), "has an unreadable header"},
      {file_of("{\"a\":1,}", 0), "has an unreadable header"},
      {file_of(std::string("{\"\xff\":{}}"), 0), "has an unreadable header"},
      {file_of(std::string(5000, '['), 0), "has an unreadable header"},
      {file_of("[]", 0), "has a header that is not a JSON object"},
      {file_of("{\"__metadata__\":[]}", 0), "has a __metadata__ that is not an object"},
      {file_of("{\"__metadata__\":{\"k\":1}}", 0), "__metadata__ \"k\" is not a string"},
      {file_of("{}", 1), "has 11 bytes; its tensors end at byte 10"},
      {file_of(one_tensor("F32", "[1]", "[0,4]"), 5), "its tensors end at byte"},
  };
  for (const Bad& bad : table) {
    SCOPED_TRACE(bad.message);
    expect_refused({kFile, {std::string(kFile) + ": ", bad.message}}, [&] { read(bad.file); });
  }
}

TEST(Safetensors, RefusesBrokenEntries) {
  struct Bad {
    std::string header;
    size_t data_bytes;
    std::string message;
  };
  const std::string odd = one_tensor("F32", "[1]", "[0,4]") + " ";
  const std::vector<Bad> table = {
      {R"({"t":1})", 0, "is not described by an object of dtype, shape and data_offsets"},
      {R"({"t":{}})", 0, "is not described by an object"},
      {R"({"t":{"dtype":"F32","shape":[]}})", 0, "is not described by an object"},
      {R"({"t":{"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4,
       "is not described by an object"},
      {R"({"t":{"dtype":"F32","shape":[1],"offsets":[0,4]}})", 4, "has no data_offsets"},
      {R"({"t":{"type":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "has no dtype"},
      {R"({"t":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", 4,
       "has no dtype, or one that is not a string"},
      {one_tensor("F4", "[2]", "[0,1]"), 1, "has an unknown dtype, \"F4\""},
      {one_tensor("f32", "[1]", "[0,4]"), 4, "has an unknown dtype, \"f32\""},
      {one_tensor("F32", "1", "[0,4]"), 4, "has no shape, or one that is not an array"},
      {one_tensor("F32", "[1.0]", "[0,4]"), 4, "has a shape whose size 0 is not a whole number"},
      {one_tensor("F32", "[1,-1]", "[0,4]"), 4, "has a shape whose size 1 is not a whole number"},
      {one_tensor("F32", "[\"1\"]", "[0,4]"), 4, "has a shape whose size 0 is not a whole number"},
      {one_tensor("F32", "[9223372036854775808]", "[0,4]"), 4,
       "has a shape whose size 0 is not a whole number"},
      {one_tensor("F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), 4,
       "has a shape of more than 16 sizes"},
      {one_tensor("F32", "[4294967296,4294967296]", "[0,0]"), 0, "has a shape too large to exist"},
      {one_tensor("F32", "[4611686018427387904]", "[0,0]"), 0, "has a shape too large to exist"},
      {one_tensor("F32", "[4294967296,4294967296,0]", "[0,0]"), 0, "has a shape too large to exist"},
      {one_tensor("F32", "[1]", "[0]"), 4, "has no data_offsets [begin, end]"},
      {one_tensor("F32", "[1]", "[0,4,8]"), 4, "has no data_offsets [begin, end]"},
      {one_tensor("F32", "[1]", "[0,4.0]"), 4, "has no data_offsets [begin, end] of whole numbers"},
      {one_tensor("F32", "[1]", "[-4,0]"), 4, "has no data_offsets [begin, end] of whole numbers"},
      {one_tensor("F32", "[1]", "[4,0]"), 4, "begin <= end"},
      {one_tensor("F32", "[1]", "[18446744073709551612,18446744073709551615]"), 4, "has no data_offsets"},
      {one_tensor("F32", "[1]", "[0,2]"), 4, "has 2 bytes by its data_offsets; F32 [1] needs 4"},
      {one_tensor("BF16", "[2,3]", "[0,24]"), 24, "has 24 bytes by its data_offsets; BF16 [2, 3] needs 12"},
      {one_tensor("F32", "[3]", "[0,12]"), 11, "it is truncated or damaged"},
      {one_tensor("F32", "[1]", "[9223372036854775800,9223372036854775804]"), 4, "leaves a hole before it"},
      {one_tensor("F32", "[1]", "[8,12]"), 12, "leaves a hole before it"},
      {odd, 4,
       "is misaligned: it begins at byte " + std::to_string(8 + odd.size()) + ", not a multiple of 4"},
  };
  for (const Bad& bad : table) {
    SCOPED_TRACE(bad.header);
    expect_refused({"t", {std::string(kFile) + ": tensor \"t\" ", bad.message}},
                   [&] { read(file_of(bad.header, bad.data_bytes)); });
  }
}

std::string two_tensors(const std::string& second_name, const std::string& second_offsets) {
  std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},")" + second_name +
                       R"(":{"dtype":"F32","shape":[2],"data_offsets":)" + second_offsets + "}}";
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

TEST(Safetensors, RefusesOverlapsHolesAndRepeatedNames) {
  EXPECT_EQ(read(file_of(two_tensors("b", "[8,16]"), 16)).size(), 2U);
  expect_refused({"b", {"tensor \"b\" overlaps the tensor before it"}},
                 [] { read(file_of(two_tensors("b", "[4,12]"), 16)); });
  expect_refused({"b", {"tensor \"b\" overlaps the tensor before it"}},
                 [] { read(file_of(two_tensors("b", "[0,8]"), 8)); });
  expect_refused({"b", {"tensor \"b\" leaves a hole before it"}},
                 [] { read(file_of(two_tensors("b", "[12,20]"), 20)); });
  expect_refused({"a", {"tensor \"a\" is there twice"}},
                 [] { read(file_of(two_tensors("a", "[8,16]"), 16)); });
  // An escape does not hide a repeated name.
  expect_refused({"a", {"tensor \"a\" is there twice"}},
                 [] { read(file_of(two_tensors("\\u0061", "[8,16]"), 16)); });
}

TEST(Safetensors, KeepsMessagesToOneShortLine) {
  const std::string name = "x\\n" + std::string(10'000, 'y');
  try {
    read(file_of("{\"" + name + "\":1}", 0));
    FAIL();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos);
    EXPECT_LT(what.size(), 400U);
  }
}

TEST(Safetensors, EveryCutOfAFileIsRefused) {
  const std::string file = file_of(two_tensors("b", "[8,16]"), 16);
  for (size_t size = 0; size < file.size(); ++size) EXPECT_THROW(read(file.substr(0, size)), Error) << size;
}

}  // namespace
}  // namespace d3::checkpoint
