// The vision tower against the reference's, and what it promises beyond that.
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cpu/executor.h"
#include "cpu/golden_layers.h"
#include "cpu/random_values.h"
#include "cpu/vision_tower.h"
#include "media/media.h"
#include "support/checkpoint_writer.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::cpu {
namespace {

using test::LayerComparison;
using test::RandomValues;
using test::read_tensor;

media::Pixels read_medium(const std::string& name, bool is_video) {
  const std::string bytes = test::read_file(test::data_path("media/" + name));
  const auto encoded = std::as_bytes(std::span(bytes));
  return is_video ? media::read_video(encoded, {}, "videos[0]") : media::read_image(encoded, {}, "images[0]");
}

media::Pixels random_pixels(RandomValues& random, int frames, int height, int width) {
  media::Pixels pixels;
  pixels.frames = frames;
  pixels.height = height;
  pixels.width = width;
  for (const float value : random.normals(static_cast<size_t>(frames * height * width * 3), 60.0F))
    pixels.rgb.push_back(static_cast<uint8_t>(std::clamp(value + 128.0F, 0.0F, 255.0F)));
  if (frames > 1) pixels.pair_seconds.assign(static_cast<size_t>(frames / 2), 0.5);
  return pixels;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = a.size() == b.size() ? 0.0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  return largest;
}

class VisionTest : public ::testing::Test {
 protected:
  void SetUp() override { open("tiny"); }

  void open(const std::string& preset) {
    const auto tokenizer = test::data_path("tokenizer-small");
    checkpoint_.reset();
    test::write_checkpoint(test::preset(preset, tokenizer), tokenizer, directory_.path());
    checkpoint_ = std::make_unique<checkpoint::Checkpoint>(checkpoint::Checkpoint::open(directory_.path()));
  }

  std::unique_ptr<model::Executor> executor(Dtype dtype, Arithmetic arithmetic = Arithmetic::kAuto) const {
    return make_executor(*checkpoint_,
                         {.dtype = dtype, .threads = 2, .cpu_target = {}, .arithmetic = arithmetic});
  }

  static std::vector<float> encode(model::Executor& executor, const media::Pixels& pixels) {
    const media::Pixels* const one = &pixels;
    return executor.encode_media(std::span(&one, 1)).front();
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
};

struct MediaCase {
  const char* name;
  const char* file;
  bool is_video;
};
constexpr MediaCase kCases[] = {{"png-gray", "gray.png", false}, {"mp4-mpeg4-short", "short.mp4", true}};

TEST_F(VisionTest, EveryBlockEqualsTheReferences) {
  use_one_thread_for_products();
  Machine machine(select_kernel_table(""), 2);
  VisionTower<float> tower(machine, *checkpoint_, ProductType::kFloat32, {});
  for (const MediaCase& medium : kCases) {
    const auto path =
        test::shared_path(std::string("fixtures/cases/layers-tiny-") + medium.name + ".safetensors");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "the large golden data is not here";
    const std::string file = test::read_file(path);
    LayerComparison comparison(file, path);
    tower.observe(std::ref(comparison));
    const media::Pixels pixels = read_medium(medium.file, medium.is_video);
    const media::Pixels* const one = &pixels;
    tower.encode(std::span(&one, 1));
    EXPECT_EQ(comparison.seen(), static_cast<size_t>(checkpoint_->config().vision->depth) + 1);
  }
}

// The same for the features alone, from the small golden data, in which tiny-irregular's heads are of an odd
// size (72); narrow products round every value they take.
TEST_F(VisionTest, FeaturesEqualTheReferences) {
  const auto path = test::data_path("golden/vision-tiny.safetensors");
  const std::string file = test::read_file(path);
  const auto check = [&](const MediaCase& medium, const std::string& golden) {
    const auto expected = read_tensor<float>(file, path, golden);
    const auto scale = largest_difference(expected, std::vector<float>(expected.size()));
    const media::Pixels pixels = read_medium(medium.file, medium.is_video);
    const auto error = [&](Dtype dtype, Arithmetic arithmetic) {
      return largest_difference(encode(*executor(dtype, arithmetic), pixels), expected) / scale;
    };
    EXPECT_LE(error(Dtype::kFloat32, Arithmetic::kAuto), 1e-3) << golden;
    EXPECT_LE(error(Dtype::kBfloat16, Arithmetic::kFloat32), 1e-3) << golden;
    try {
      EXPECT_LE(error(Dtype::kInt8, Arithmetic::kAuto), 0.02) << golden;
      EXPECT_LE(error(Dtype::kBfloat16, Arithmetic::kBfloat16), 0.02) << golden;
    } catch (const Error& refusal) {
      EXPECT_EQ(refusal.code(), ErrorCode::kUnsupported);  // a CPU without such products
    }
  };
  for (const MediaCase& medium : kCases) check(medium, medium.name);
  open("tiny-irregular");
  check(kCases[1], std::string("tiny-irregular-") + kCases[1].name);
}

TEST_F(VisionTest, CompanyDoesNotChangeFeatures) {
  RandomValues random(1);
  const auto executor = this->executor(Dtype::kFloat32);
  std::vector<media::Pixels> media;
  media.push_back(random_pixels(random, 1, 64, 96));
  media.push_back(random_pixels(random, 4, 32, 32));
  media.push_back(random_pixels(random, 1, 32, 544));
  media.push_back(random_pixels(random, 1, 1024, 1536));  // with the others more than a pass holds
  media.push_back(random_pixels(random, 2, 512, 512));
  std::vector<const media::Pixels*> pointers;
  for (const media::Pixels& pixels : media) pointers.push_back(&pixels);
  const auto together = executor->encode_media(pointers);
  ASSERT_EQ(together.size(), media.size());
  for (size_t i = 0; i < media.size(); ++i)
    EXPECT_LE(largest_difference(encode(*executor, media[i]), together[i]), 1e-4) << i;
  const model::ExecutorCounters counters = executor->counters();
  EXPECT_EQ(counters.media_encoded, 10U);
  EXPECT_EQ(counters.patches, 2U * (24 + 8 + 68 + 6144 + 1024));
}

TEST_F(VisionTest, FramesOfAVideoAreEncodedOnTheirOwn) {
  RandomValues random(2);
  const auto executor = this->executor(Dtype::kFloat32);
  const media::Pixels image = random_pixels(random, 1, 64, 96);
  media::Pixels video = image;
  video.frames = 4;
  video.pair_seconds = {0.5, 1.5};
  for (int i = 0; i < 3; ++i) video.rgb.insert(video.rgb.end(), image.rgb.begin(), image.rgb.end());
  const auto once = encode(*executor, image);
  const auto twice = encode(*executor, video);
  ASSERT_EQ(twice.size(), 2 * once.size());
  EXPECT_LE(largest_difference(std::span(twice).first(once.size()), once), 1e-5);
  EXPECT_LE(largest_difference(std::span(twice).last(once.size()), once), 1e-5);
}

TEST_F(VisionTest, RefusesPixelsThatAreNotAsTheySay) {
  RandomValues random(3);
  const auto executor = this->executor(Dtype::kFloat32);
  const media::Pixels good = random_pixels(random, 1, 32, 64);
  for (const auto& spoil : std::vector<std::function<void(media::Pixels&)>>{
           [](media::Pixels& pixels) { pixels.rgb.pop_back(); },
           [](media::Pixels& pixels) { pixels.frames = 3; }, [](media::Pixels& pixels) { pixels.height = 0; },
           [](media::Pixels& pixels) { pixels.width = 48; },
           [](media::Pixels& pixels) { pixels.frames = -2; }}) {
    media::Pixels pixels = good;
    spoil(pixels);
    EXPECT_THROW(encode(*executor, pixels), Error);
  }
  EXPECT_TRUE(executor->encode_media({}).empty());
  EXPECT_TRUE(executor->has_vision());
}

TEST(VisionlessCheckpoint, LoadsAndRefusesMedia) {
  const auto tokenizer = test::data_path("tokenizer-small");
  const test::TemporaryDirectory directory;
  test::CheckpointSpec spec = test::preset("micro", tokenizer);
  std::erase_if(spec.tensors,
                [](const test::TensorSpec& tensor) { return tensor.name.starts_with("visual."); });
  test::write_checkpoint(spec, tokenizer, directory.path());
  const auto checkpoint = checkpoint::Checkpoint::open(directory.path());
  const auto executor = make_executor(checkpoint, {.dtype = Dtype::kFloat32, .threads = 2, .cpu_target = {}});
  EXPECT_FALSE(executor->has_vision());
  RandomValues random(5);
  const media::Pixels pixels = random_pixels(random, 1, 32, 32);
  const media::Pixels* const one = &pixels;
  try {
    executor->encode_media(std::span(&one, 1));
    FAIL() << "encoded without a tower";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  }
}

TEST_F(VisionTest, FeaturesChangeAnswers) {
  RandomValues random(4);
  const auto executor = this->executor(Dtype::kFloat32);
  const auto features = encode(*executor, random_pixels(random, 1, 64, 64));
  const std::vector<int32_t> prefix(6, 5);
  const std::vector<int32_t> tail = {1, 2, 3};
  const model::MediaBlock block{.first = 1, .rows = 2, .columns = 2, .features = features.data()};
  const auto plain = executor->run({{{prefix, {tail, tail}}}});
  const auto seen = executor->run({{{prefix, {tail, tail}, {block}}}});
  EXPECT_GT(largest_difference(plain, seen), 1e-3);
  executor->set_options({.share_prefixes = false, .cut_last_layer = false});
  EXPECT_LE(largest_difference(executor->run({{{prefix, {tail, tail}, {block}}}}), seen), 1e-4);
  model::MediaBlock empty = block;
  empty.features = nullptr;
  EXPECT_THROW(executor->run({{{prefix, {tail}, {empty}}}}), Error);
  model::MediaBlock outside = block;
  outside.first = 3;
  EXPECT_THROW(executor->run({{{prefix, {tail}, {outside}}}}), Error);
}

}  // namespace
}  // namespace d3::cpu
