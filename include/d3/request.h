// d3/request.h: what a model can be asked. All types are plain values: they own what they hold and can be
// copied, moved and kept. The rules (how many options, how long, which media) are those of the HTTP API and
// are checked when the request is asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "d3/export.h"

namespace d3 {

/// Nothing, a text, or any JSON value. Texts are UTF-8.
class Content {
 public:
  enum class Kind { kNone, kText, kJson };

  Content() = default;  ///< nothing: JSON's null
  Content(std::string text) : kind_(Kind::kText), text_(std::move(text)) {}
  Content(std::string_view text) : Content(std::string(text)) {}
  Content(const char* text) : Content(std::string(text)) {}

  /// A JSON text (RFC 8259). The model reads it with its members in this order and its numbers as they are
  /// written.
  static Content json(std::string text) {
    Content content(std::move(text));
    content.kind_ = Kind::kJson;
    return content;
  }

  Kind kind() const noexcept { return kind_; }
  const std::string& text() const& noexcept { return text_; }
  std::string text() && noexcept { return std::move(text_); }

 private:
  Kind kind_ = Kind::kNone;
  std::string text_;
};

enum class QuestionType {
  kChoice,  ///< which of 1 to 255 options fits best
  kNoul,    ///< whether something is true
  kScore,   ///< which of 2 to 10 levels, low to high
};

/// An option of a choice.
struct Option {
  std::string key;           ///< its name in the answer; not empty, each name once
  Content description = {};  ///< what the model reads beside the name
};

/// A question about the state. Make it with one of the three functions.
struct Question {
  QuestionType type = QuestionType::kChoice;
  std::string id;                    ///< its name in answers and failures; not empty, each once in a request
  Content instructions = {};         ///< what is asked; nothing: "Choose the best matching option."
  std::vector<Option> options = {};  ///< of a choice, in the order in which the model reads them
  Content if_true = {};              ///< of a noul: what true means; nothing: "Yes / true"
  Content if_false = {};             ///< of a noul: what false means; nothing: "No / false"
  std::vector<Content> levels = {};  ///< of a score, low to high, all different

  D3_API static Question choice(std::string id, Content instructions, std::vector<Option> options);
  D3_API static Question noul(std::string id, Content instructions, Content if_true = {},
                              Content if_false = {});
  D3_API static Question score(std::string id, Content instructions, std::vector<Content> levels);
};

/// An image (PNG, JPEG, WebP) or a video (MP4, MOV, WebM, Matroska): the encoded file, or where it is.
class Media {
 public:
  enum class Kind { kBytes, kFile, kUrl };

  /// The file's bytes.
  static Media bytes(std::vector<std::byte> bytes) {
    Media media(Kind::kBytes);
    media.bytes_ = std::move(bytes);
    return media;
  }
  /// A file, read when the request is asked.
  static Media file(const std::filesystem::path& path) {
    Media media(Kind::kFile);
    media.place_ = path.string();
    return media;
  }
  /// An http or https URL, fetched when the request is asked (LoadOptions says from where), or a base64 data
  /// URL.
  static Media url(std::string url) {
    Media media(Kind::kUrl);
    media.place_ = std::move(url);
    return media;
  }

  Kind kind() const noexcept { return kind_; }
  const std::string& place() const noexcept { return place_; }  ///< path or URL
  const std::vector<std::byte>& content() const& noexcept { return bytes_; }
  std::vector<std::byte> content() && noexcept { return std::move(bytes_); }

 private:
  explicit Media(Kind kind) : kind_(kind) {}

  Kind kind_;
  std::string place_;
  std::vector<std::byte> bytes_;
};

/// A state and questions about it. Questions of one request share the state's computation; each is answered
/// on its own.
struct Request {
  Content state = {};               ///< what is known
  std::vector<Question> questions;  ///< 1 to 64
  std::vector<Media> images = {};
  std::vector<Media> videos = {};
  /// How long the answer may take from the call on, media included; what is not answered then ends with
  /// kDeadlineExceeded. 0: as long as it takes.
  std::chrono::milliseconds timeout{0};
};

}  // namespace d3
