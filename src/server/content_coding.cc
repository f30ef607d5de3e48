#include "server/content_coding.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include "base/ascii.h"
#include "base/error.h"

namespace d3::server {
namespace {

constexpr size_t kFirstSize = 16 << 10;
constexpr int kWindowLog = 23;               // 8 MiB
constexpr int kGzipWindow = MAX_WBITS + 16;  // gzip's frame alone

enum class Coding { kPlain, kGzip, kZstd, kUnknown };

Coding coding_of(std::string_view name) {
  name = trimmed(name);
  if (name.empty() || equals_ignoring_case(name, "identity")) return Coding::kPlain;
  if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) return Coding::kGzip;
  return equals_ignoring_case(name, "zstd") ? Coding::kZstd : Coding::kUnknown;
}

[[noreturn]] void refuse(std::string_view coding) {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("the body is no whole {}", coding));
}

/// The decoded bytes, growing up to one more than the limit, by which it is known to be passed.
class Output {
 public:
  Output(size_t limit, const std::function<void(size_t)>& grow) : limit_(limit), grow_(grow) {}

  char* room() {
    if (used_ == bytes_.size()) {
      const size_t next = std::min(limit_ + 1, std::max(kFirstSize, 2 * used_));
      grow_(next - used_);
      bytes_.resize(next);
    }
    return bytes_.data() + used_;
  }
  size_t room_size() const { return bytes_.size() - used_; }
  void use(size_t size) {
    used_ += size;
    if (used_ > limit_)
      throw Error(ErrorCode::kPayloadTooLarge,
                  fmt::format("the decoded body is over the limit of {} bytes", limit_));
  }
  std::string take() {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  size_t used_ = 0;
  const size_t limit_;
  const std::function<void(size_t)>& grow_;
};

void gunzip(std::string_view body, Output& output) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  // zlib reads the input without changing it; a body is far below 4 GiB, but its parts are bounded anyway.
  std::string_view rest = body;
  for (;;) {
    const auto part = static_cast<uInt>(std::min<size_t>(rest.size(), 1U << 30U));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    stream.avail_in = part;
    stream.next_out = reinterpret_cast<Bytef*>(output.room());
    const auto room = static_cast<uInt>(std::min<size_t>(output.room_size(), 1U << 30U));
    stream.avail_out = room;
    const int result = inflate(&stream, Z_NO_FLUSH);
    output.use(room - stream.avail_out);
    rest.remove_prefix(part - stream.avail_in);
    if (result == Z_STREAM_END) {
      if (rest.empty()) return;
      if (inflateReset(&stream) != Z_OK) refuse("gzip");
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if ((result != Z_OK && result != Z_BUF_ERROR) || (rest.empty() && stream.avail_out > 0)) {
      refuse("gzip");
    }
  }
}

void unzstd(std::string_view body, Output& output) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLog);
  ZSTD_inBuffer in{body.data(), body.size(), 0};
  for (;;) {
    char* room = output.room();
    ZSTD_outBuffer out{room, output.room_size(), 0};
    const size_t missing = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(missing) != 0U) refuse("zstd");
    output.use(out.pos);
    if (missing == 0 && in.pos == in.size) return;
    if (in.pos == in.size && out.pos < out.size) refuse("zstd");  // it waits for more
  }
}

}  // namespace

bool is_plain(std::string_view content_encoding) { return coding_of(content_encoding) == Coding::kPlain; }

bool is_known_coding(std::string_view content_encoding) {
  const Coding coding = coding_of(content_encoding);
  return coding == Coding::kGzip || coding == Coding::kZstd;
}

std::string decode(std::string_view content_encoding, std::string_view body, size_t limit,
                   const std::function<void(size_t bytes)>& grow) {
  Output output(limit, grow);
  if (coding_of(content_encoding) == Coding::kGzip)
    gunzip(body, output);
  else
    unzstd(body, output);
  return output.take();
}

std::string gzip(std::string_view text) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error(ErrorCode::kInternal, "zlib could not be set up");
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw Error(ErrorCode::kInternal, "zlib could not compress");
  return out;
}

}  // namespace d3::server
