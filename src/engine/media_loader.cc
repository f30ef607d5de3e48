#include "engine/media_loader.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/sha256.h"
#include "decision/refuse.h"
#include "media/work_limit.h"

namespace d3::engine {
namespace {

/// What of the options decides the pixels, as text.
std::string preprocessing(media::MediaKind kind, const media::MediaOptions& options) {
  if (kind == media::MediaKind::kImage)
    return fmt::format("image {} {} {}\n", options.side_multiple, options.min_resized_pixels,
                       options.max_resized_pixels);
  return fmt::format("video {} {} {} {} {} {} {}\n", options.side_multiple, options.sampled_frames_per_second,
                     options.min_sampled_frames, options.max_sampled_frames, options.min_video_pixels,
                     options.max_video_pixels, options.max_video_pixels_per_frame);
}

MediaKey key_of(std::span<const std::byte> file, media::MediaKind kind, const media::MediaOptions& options) {
  const std::string how = preprocessing(kind, options);
  checkpoint::Sha256 hash;
  hash.update(std::as_bytes(std::span(how)));
  hash.update(file);
  return hash.finish();
}

MediaShape shape_of(const media::Pixels& pixels, const media::MediaOptions& options) {
  return {.rows = pixels.height / options.side_multiple,
          .columns = pixels.width / options.side_multiple,
          .pair_seconds = pixels.pair_seconds};
}

/// Pixels that count among those that wait for as long as they are there.
struct HeldPixels {
  HeldPixels(media::Pixels held, std::shared_ptr<std::atomic<int64_t>> total)
      : pixels(std::move(held)), bytes(static_cast<int64_t>(pixels.rgb.size())), waiting(std::move(total)) {
    *waiting += bytes;
  }
  HeldPixels(const HeldPixels&) = delete;
  HeldPixels& operator=(const HeldPixels&) = delete;
  ~HeldPixels() { *waiting -= bytes; }

  const media::Pixels pixels;
  const int64_t bytes;
  const std::shared_ptr<std::atomic<int64_t>> waiting;
};

struct Item {
  media::MediaKind kind;
  const decision::Medium* medium;
  std::string field;
};

std::vector<Item> items_of(const decision::Request& request) {
  std::vector<Item> items;
  const auto add = [&](media::MediaKind kind, const std::vector<decision::Medium>& media, const char* name) {
    for (size_t i = 0; i < media.size(); ++i)
      items.push_back({.kind = kind, .medium = &media[i], .field = fmt::format("{}[{}]", name, i)});
  };
  add(media::MediaKind::kImage, request.images, "images");
  add(media::MediaKind::kVideo, request.videos, "videos");
  return items;
}

}  // namespace

/// The media of one request, loaded by some threads.
class MediaLoader::Batch {
 public:
  Batch(const MediaLoader& loader, std::vector<Item> items)
      : loader_(loader), items_(std::move(items)), media_(items_.size()), errors_(items_.size()) {}

  std::vector<std::shared_ptr<RequestMedia>> load() {
    const size_t threads = std::min(items_.size(), static_cast<size_t>(loader_.options_.threads));
    {
      std::vector<std::jthread> others;
      for (size_t i = 1; i < threads; ++i) others.emplace_back([this] { load_items(); });
      load_items();
    }
    for (const std::exception_ptr& error : errors_)
      if (error) std::rethrow_exception(error);
    check_video_tokens();
    return std::move(media_);
  }

 private:
  void load_items() {
    for (size_t i = next_++; i < items_.size() && !failed_; i = next_++) {
      try {
        load_item(i);
      } catch (...) {
        errors_[i] = std::current_exception();
        failed_ = true;
      }
    }
  }

  void load_item(size_t index) {
    const Item& item = items_[index];
    std::vector<std::byte> fetched;
    std::span<const std::byte> file = item.medium->file;
    if (!item.medium->url.empty()) {
      fetched = loader_.fetcher_.fetch(item.medium->url, item.kind, loader_.options_.media, item.field);
      file = fetched;
    }
    const MediaKey key = key_of(file, item.kind, loader_.options_.media);
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<RequestMedia>& known = by_key_[key];
      const bool is_new = known == nullptr;
      if (is_new) known = std::make_shared<RequestMedia>();
      media_[index] = known;
      if (!is_new) return;
    }
    read(*media_[index], key, file, item);
  }

  void read(RequestMedia& media, const MediaKey& key, std::span<const std::byte> file, const Item& item) {
    media.key = key;
    if (loader_.cache_ != nullptr) media.encoded = loader_.cache_->find(key);
    if (media.encoded) {
      media.shape = media.encoded->shape;
      return;
    }
    media::Pixels pixels = decode(file, item);
    media.shape = shape_of(pixels, loader_.options_.media);
    media.pixels = loader_.hold(std::move(pixels));
  }

  media::Pixels decode(std::span<const std::byte> file, const Item& item) {
    const double left = loader_.options_.max_request_seconds - seconds_;
    if (left <= 0) decision::refuse(item.field, "the request's media take too long to decode");
    media::MediaOptions options = loader_.options_.media;
    options.max_image_seconds = std::min(options.max_image_seconds, left);
    options.max_video_seconds = std::min(options.max_video_seconds, left);
    const double start = media::thread_cpu_seconds();
    media::Pixels pixels = item.kind == media::MediaKind::kImage ? read_image(file, options, item.field)
                                                                 : read_video(file, options, item.field);
    seconds_.fetch_add(media::thread_cpu_seconds() - start);
    return pixels;
  }

  void check_video_tokens() const {
    int64_t tokens = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].kind != media::MediaKind::kVideo) continue;
      tokens += media_[i]->shape.tokens();
      if (tokens > loader_.options_.max_video_tokens)
        decision::refuse(items_[i].field,
                         fmt::format("the videos up to this one have {} tokens, the limit is {}", tokens,
                                     loader_.options_.max_video_tokens));
    }
  }

  const MediaLoader& loader_;
  const std::vector<Item> items_;
  std::vector<std::shared_ptr<RequestMedia>> media_;  // an element is one thread's until load() joins them
  std::vector<std::exception_ptr> errors_;            // likewise
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<double> seconds_ = 0;
  std::mutex mutex_;
  std::map<MediaKey, std::shared_ptr<RequestMedia>> by_key_;  // under mutex_
};

MediaLoader::MediaLoader(MediaLoaderOptions options, VisionCache* cache)
    : options_(std::move(options)),
      fetcher_(options_.fetch),
      cache_(cache),
      waiting_bytes_(std::make_shared<std::atomic<int64_t>>(0)) {}

std::vector<std::shared_ptr<RequestMedia>> MediaLoader::load(const decision::Request& request) const {
  std::vector<Item> items = items_of(request);
  if (items.size() > options_.max_items)
    decision::refuse(items[options_.max_items].field,
                     fmt::format("a request has at most {} images and videos", options_.max_items));
  return Batch(*this, std::move(items)).load();
}

std::shared_ptr<const media::Pixels> MediaLoader::hold(media::Pixels pixels) const {
  const auto held = std::make_shared<HeldPixels>(std::move(pixels), waiting_bytes_);
  if (*waiting_bytes_ > options_.max_waiting_bytes)
    throw Error(ErrorCode::kOverloaded, "too many images and videos are waiting; try again later");
  return {held, &held->pixels};
}

}  // namespace d3::engine
