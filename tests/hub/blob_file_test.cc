#include "hub/blob_file.h"

#include <cstring>

#include <gtest/gtest.h>

#include "support/file_content.h"
#include "support/temporary_directory.h"

namespace d3::hub {
namespace {

using test::content_of;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(JournalTest, ReadsWhatItWrites) {
  const Journal journal{.bytes = 10, .part_bytes = 4, .done = {4, 0, 2}};
  EXPECT_EQ(parse_journal(write_journal(journal), 10), journal);
  EXPECT_EQ(parse_journal(write_journal({0, 4, {}}), 0), (Journal{0, 4, {}}));
}

TEST(JournalTest, RefusesAllElse) {
  const auto refused = [](const Journal& journal, uint64_t bytes) {
    return !parse_journal(write_journal(journal), bytes).has_value();
  };
  EXPECT_TRUE(refused({10, 4, {4, 0, 2}}, 11));     // another file
  EXPECT_TRUE(refused({10, 0, {}}, 10));            // no parts
  EXPECT_TRUE(refused({10, 4, {4, 0}}, 10));        // too few
  EXPECT_TRUE(refused({10, 4, {4, 0, 2, 0}}, 10));  // too many
  EXPECT_TRUE(refused({10, 4, {4, 0, 3}}, 10));     // more than the part has
  EXPECT_TRUE(refused({~0ULL, 1, {}}, ~0ULL));      // more parts than memory should hold
  std::vector<std::byte> text = write_journal({10, 4, {4, 0, 2}});
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parse_journal(std::span(text).first(size), 10)) << size;
  text[0] = std::byte{'x'};
  EXPECT_FALSE(parse_journal(text, 10));
}

TEST(BlobFileTest, GoesOnAfterAStop) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "blob";
  {
    BlobFile blob(path, 10, 4, true);
    ASSERT_EQ(blob.parts(), 3U);
    EXPECT_FALSE(blob.resumed());
    EXPECT_EQ(blob.part(2).begin, 8U);
    EXPECT_EQ(blob.part(2).length, 2U);
    blob.write(2, bytes_of("89"));
    blob.write(0, bytes_of("01"));
  }
  {
    BlobFile blob(path, 10, 5, true);  // the size of parts is that of the first run
    EXPECT_TRUE(blob.resumed());
    EXPECT_EQ(blob.done(), 4U);
    EXPECT_EQ(blob.part(0).done, 2U);
    blob.write(0, bytes_of("23"));
    blob.write(1, bytes_of("4567"));
    EXPECT_FALSE(std::filesystem::exists(path));
    blob.place();
  }
  EXPECT_EQ(content_of(path), "0123456789");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(BlobFileTest, GoesOnAfterAStopWhilePlacing) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "blob";
  BlobFile(path, 4, 3, true).write(0, bytes_of("012"));
  BlobFile(path, 4, 3, true).write(1, bytes_of("3"));
  std::filesystem::remove(path.string() + ".d3.journal");  // the first of place()'s two steps
  BlobFile blob(path, 4, 3, true);
  EXPECT_TRUE(blob.resumed());
  EXPECT_EQ(blob.done(), 4U);
  blob.place();
  EXPECT_EQ(content_of(path), "0123");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(BlobFileTest, BeginsAnewWhenItMust) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "blob";
  BlobFile(path, 4, 4, true).write(0, bytes_of("01"));
  EXPECT_EQ(BlobFile(path, 5, 4, true).done(), 0U);  // of another size
  BlobFile(path, 4, 4, true).write(0, bytes_of("01"));
  EXPECT_EQ(BlobFile(path, 4, 4, false).done(), 0U);  // as asked
  BlobFile(path, 4, 4, true).write(0, bytes_of("01"));
  std::filesystem::remove(path.string() + ".d3.incomplete");
  EXPECT_EQ(BlobFile(path, 4, 4, true).done(), 0U);  // half of it is gone
  BlobFile(path, 4, 4, true).write(0, bytes_of("01"));
  std::filesystem::remove(path.string() + ".d3.journal");
  EXPECT_EQ(BlobFile(path, 4, 4, true).done(), 0U);  // and nothing says what has come
  BlobFile blob(path, 4, 4, true);
  blob.write(0, bytes_of("0123"));
  blob.restart();
  EXPECT_EQ(blob.done(), 0U);
  blob.discard();
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(BlobFileTest, PlacesAnEmptyFile) {
  const test::TemporaryDirectory directory;
  BlobFile blob(directory.path() / "blob", 0, 4, true);
  EXPECT_EQ(blob.parts(), 0U);
  blob.place();
  EXPECT_EQ(std::filesystem::file_size(directory.path() / "blob"), 0U);
}

}  // namespace
}  // namespace d3::hub
