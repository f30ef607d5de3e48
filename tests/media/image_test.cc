// Every golden image, decoded and resized, has the reference's pixels.
#include "media/image.h"

#include <string>

#include <gtest/gtest.h>

#include "golden_media.h"

namespace d3::media {
namespace {

TEST(ImageTest, GoldenImagesAreEqual) {
  const test::GoldenMedia golden;
  int images = 0;
  for (const auto& [name, media] : golden.root()) {
    if (media["resized"].error() != simdjson::SUCCESS) continue;
    SCOPED_TRACE(name);
    const auto encoded = test::media_file(std::string(name));
    const Image decoded = decode_image(encoded, {});
    EXPECT_EQ(decoded.height, test::GoldenMedia::integer(media, "source", 0));
    EXPECT_EQ(decoded.width, test::GoldenMedia::integer(media, "source", 1));

    const Pixels pixels = read_image(encoded, {}, "images[0]");
    EXPECT_EQ(test::frame_of(pixels.height, pixels.width, pixels.rgb),
              test::GoldenMedia::frame(media, "resized"));
    EXPECT_EQ(pixels.frames, 1);
    EXPECT_FALSE(pixels.is_video());
    EXPECT_EQ(pixels.height / 16, test::GoldenMedia::integer(media, "grid_thw", 1));
    EXPECT_EQ(pixels.width / 16, test::GoldenMedia::integer(media, "grid_thw", 2));
    ++images;
  }
  EXPECT_EQ(images, 27);
}

}  // namespace
}  // namespace d3::media
