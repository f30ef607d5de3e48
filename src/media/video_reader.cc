#include "media/video_reader.h"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/opt.h>
}

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "media/ffmpeg.h"
#include "media/frame_image.h"
#include "media/key_frames.h"
#include "media/memory_input.h"
#include "media/refusal.h"
#include "media/sizes.h"
#include "media/work_limit.h"

namespace d3::media {
namespace {

/// The largest single allocation FFmpeg may make: a plane of the largest frame at 16 bits, and any packet
/// such a frame needs. It bounds what tables a small file can make the demuxer build.
constexpr size_t kMaxFfmpegAllocation = 24U << 20U;
constexpr int kMaxStreams = 16;

std::string error_text(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(code, text.data(), text.size());
  return text.data();
}

std::string_view text_at(Bytes bytes, size_t offset, size_t size) {
  if (bytes.size() < offset + size) return {};
  return {reinterpret_cast<const char*>(bytes.data()) + offset, size};
}

/// The demuxer's name by the file's first bytes; empty for anything else.
const char* demuxer_name(Bytes encoded) {
  using std::string_view_literals::operator""sv;
  if (text_at(encoded, 0, 4) == "\x1A\x45\xDF\xA3"sv) return "matroska";
  const std::string_view first_box = text_at(encoded, 4, 4);
  for (const std::string_view box : {"ftyp", "moov", "mdat", "wide", "free", "skip", "pnot", "uuid"})
    if (first_box == box) return "mov";
  return "";
}

/// Whether kVideoCodecs has the decoder.
bool is_listed(std::string_view decoder) {
  for (std::string_view rest = kVideoCodecs; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    if (rest.substr(0, end) == decoder) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

int refuse_other_files(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EACCES);
}

/// The options of every decoder that FFmpeg opens.
struct DecoderOptions {
  explicit DecoderOptions(const MediaOptions& options) {
    av_dict_set(&dictionary, "threads", "1", 0);
    av_dict_set_int(&dictionary, "max_pixels", options.max_video_frame_pixels, 0);
    av_dict_set(&dictionary, "codec_whitelist", std::string(kVideoCodecs).c_str(), 0);
  }
  DecoderOptions(const DecoderOptions& other) { av_dict_copy(&dictionary, other.dictionary, 0); }
  DecoderOptions& operator=(const DecoderOptions&) = delete;
  ~DecoderOptions() { av_dict_free(&dictionary); }

  AVDictionary* dictionary = nullptr;
};

double as_double(AVRational value) {
  return value.num == 0 || value.den == 0 ? 0 : static_cast<double>(value.num) / value.den;
}

constexpr double kLeast = 0.000025;  // smaller rates and durations are none (as OpenCV has it)

double container_fps(AVFormatContext* format, AVStream* stream) {
  double fps = as_double(stream->avg_frame_rate);
  if (fps < kLeast) fps = as_double(av_guess_frame_rate(format, stream, nullptr));
  if (fps < kLeast) fps = 1 / as_double(stream->time_base);
  return fps;
}

/// Frames by count, or by duration and rate; 0 when the container gives neither.
int64_t container_frames(const AVFormatContext* format, const AVStream* stream, double fps) {
  if (stream->nb_frames > 0) return stream->nb_frames;
  double seconds = static_cast<double>(format->duration) / AV_TIME_BASE;
  if (seconds < kLeast) seconds = static_cast<double>(stream->duration) * as_double(stream->time_base);
  const double frames = std::floor(seconds * fps + 0.5);
  return frames >= 1 && frames < 1e15 ? static_cast<int64_t>(frames) : 0;
}

int rotation_of(const AVStream* stream) {
  const uint8_t* matrix = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr);
  if (matrix == nullptr) return 0;
  const double counter_clockwise = av_display_rotation_get(reinterpret_cast<const int32_t*>(matrix));
  if (!std::isfinite(counter_clockwise)) return 0;
  const int degrees = (static_cast<int>(-std::nearbyint(counter_clockwise)) + 360) % 360;
  return degrees % 90 == 0 ? degrees : 0;
}

}  // namespace

class VideoReader::Impl {
 public:
  Impl(Bytes encoded, const MediaOptions& options)
      : options_(options), limit_(options.max_video_seconds), input_(encoded, limit_) {
    av_log_set_level(AV_LOG_QUIET);
    av_max_alloc(kMaxFfmpegAllocation);
    open_container(encoded);
    find_stream();
    open_decoder();
    key_frames_ = KeyFrames(stream_);
  }

  const VideoProperties& properties() const { return properties_; }

  bool next() {
    while (!ended_) {
      const int status = avcodec_receive_frame(decoder_.get(), frame_.get());
      if (limit_.exceeded()) refuse("the video takes too long to decode");
      if (status >= 0) {
        if (++decoded_ > options_.max_decoded_frames)
          refuse("the video has more than " + std::to_string(options_.max_decoded_frames) + " frames");
        ++number_;
        return true;
      }
      if (status == AVERROR_EOF)
        ended_ = true;
      else if (!draining_)
        send_packet();
      else if (status == AVERROR(EAGAIN))
        ended_ = true;
    }
    return false;
  }

  int64_t skip_towards(int64_t wanted) {
    const auto target = key_frames_.last_up_to(wanted);
    if (target && target->number > number_ && !ended_) start_at(*target);
    return number_;
  }

  Image image() { return converter_.convert(*frame_, properties_.rotation, options_); }

 private:
  void open_container(Bytes encoded) {
    const char* name = demuxer_name(encoded);
    if (*name == '\0') refuse("not an MP4, QuickTime, WebM or Matroska video");
    AVFormatContext* format = avformat_alloc_context();
    if (format == nullptr) throw std::bad_alloc();
    format->pb = input_.context();
    format->io_open = refuse_other_files;
    format->interrupt_callback.callback = [](void* limit) {
      return static_cast<const WorkLimit*>(limit)->exceeded() ? 1 : 0;
    };
    format->interrupt_callback.opaque = const_cast<WorkLimit*>(&limit_);  // read only
    format->max_streams = kMaxStreams;
    // On failure, FFmpeg frees the context.
    check(avformat_open_input(&format, "", av_find_input_format(name), nullptr), "damaged video");
    format_.reset(format);
    std::vector<DecoderOptions> decoders(format_->nb_streams, DecoderOptions(options_));
    std::vector<AVDictionary*> dictionaries;
    for (DecoderOptions& decoder : decoders) dictionaries.push_back(decoder.dictionary);
    const int status = avformat_find_stream_info(format_.get(), dictionaries.data());
    for (size_t i = 0; i < decoders.size(); ++i)
      decoders[i].dictionary = dictionaries[i];  // FFmpeg replaces them
    check(status, "damaged video");
  }

  /// The first video stream; the others are not read.
  void find_stream() {
    for (unsigned i = 0; i < format_->nb_streams; ++i) {
      AVStream* stream = format_->streams[i];
      const bool video = stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
                         (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) == 0;
      if (video && stream_ == nullptr)
        stream_ = stream;
      else
        stream->discard = AVDISCARD_ALL;
    }
    if (stream_ == nullptr) refuse("the file has no video stream");
    const AVCodecParameters& parameters = *stream_->codecpar;
    properties_.width = parameters.width;
    properties_.height = parameters.height;
    check_frame_size(parameters.width, parameters.height, options_);
    properties_.rotation = rotation_of(stream_);
    const double fps = container_fps(format_.get(), stream_);
    properties_.total_frames = container_frames(format_.get(), stream_, fps);
    properties_.fps = std::isfinite(fps) && fps >= 0.1 && fps <= 1000 ? fps : 24;
  }

  void open_decoder() {
    const AVCodecID id = stream_->codecpar->codec_id;
    const AVCodec* codec = avcodec_find_decoder(id);
    if (codec == nullptr || !is_listed(codec->name)) {
      std::string reason = "the video's codec (";
      reason += avcodec_get_name(id);
      reason += ") is none of H.264, HEVC, VP8, VP9, AV1, MPEG-4 and ProRes";
      refuse(reason);
    }
    decoder_ = owned(avcodec_alloc_context3(codec));
    check(avcodec_parameters_to_context(decoder_.get(), stream_->codecpar), "damaged video");
    DecoderOptions decoder_options(options_);
    check(avcodec_open2(decoder_.get(), codec, &decoder_options.dictionary), "the video cannot be decoded");
  }

  /// Goes on at a key frame; where the file turns out not to hold it, decoding starts anew from the
  /// beginning, without passing over anything.
  void start_at(const KeyFrames::KeyFrame& target) {
    const int64_t last = number_;
    if (seek_to(target.last_timestamp)) {
      const auto found = key_frames_.starting_with(*packet_);
      const bool ahead = found && found->number > last && found->number <= target.number;
      if (ahead) avcodec_send_packet(decoder_.get(), packet_.get());
      av_packet_unref(packet_.get());
      if (ahead) {
        number_ = found->number;
        return;
      }
    }
    key_frames_ = {};
    draining_ = false;
    check(av_seek_frame(format_.get(), stream_->index, 0, AVSEEK_FLAG_BACKWARD), "damaged video");
    avcodec_flush_buffers(decoder_.get());
    number_ = 0;
    while (number_ < last && next()) {
    }
  }

  /// Forgets what was decoded and reads the stream's first packet at that time into packet_; false at the
  /// end.
  bool seek_to(int64_t timestamp) {
    if (av_seek_frame(format_.get(), stream_->index, timestamp, AVSEEK_FLAG_BACKWARD) < 0) return false;
    avcodec_flush_buffers(decoder_.get());
    draining_ = false;
    while (av_read_frame(format_.get(), packet_.get()) >= 0) {
      if (packet_->stream_index == stream_->index) return true;
      av_packet_unref(packet_.get());
    }
    return false;
  }

  /// Gives the decoder the stream's next packet, or the end. What the decoder does not take is passed over.
  void send_packet() {
    const int status = av_read_frame(format_.get(), packet_.get());
    if (status < 0) {
      draining_ = true;  // a damaged container ends where it cannot be read further
      avcodec_send_packet(decoder_.get(), nullptr);
      return;
    }
    if (packet_->stream_index == stream_->index) avcodec_send_packet(decoder_.get(), packet_.get());
    av_packet_unref(packet_.get());
  }

  void check(int status, const char* reason) const {
    if (limit_.exceeded()) refuse("the video takes too long to read");
    if (status == AVERROR(ENOMEM)) refuse(std::string(reason) + ": it asks for too much memory");
    if (status < 0) refuse(std::string(reason) + ": " + error_text(status));
  }

  const MediaOptions options_;
  const WorkLimit limit_;
  MemoryInput input_;
  FfmpegPointer<AVFormatContext> format_;
  AVStream* stream_ = nullptr;  // format_'s
  FfmpegPointer<AVCodecContext> decoder_;
  FfmpegPointer<AVPacket> packet_ = owned(av_packet_alloc());
  FfmpegPointer<AVFrame> frame_ = owned(av_frame_alloc());
  FrameConverter converter_;
  VideoProperties properties_;
  KeyFrames key_frames_;
  int64_t decoded_ = 0;
  int64_t number_ = 0;  // of the frame that next() gives
  bool draining_ = false;
  bool ended_ = false;
};

VideoReader::VideoReader(Bytes encoded, const MediaOptions& options)
    : impl_(std::make_unique<Impl>(encoded, options)) {}
VideoReader::VideoReader(VideoReader&&) noexcept = default;
VideoReader& VideoReader::operator=(VideoReader&&) noexcept = default;
VideoReader::~VideoReader() = default;

const VideoProperties& VideoReader::properties() const { return impl_->properties(); }
bool VideoReader::next() { return impl_->next(); }
int64_t VideoReader::skip_towards(int64_t wanted) { return impl_->skip_towards(wanted); }
Image VideoReader::image() { return impl_->image(); }

}  // namespace d3::media
