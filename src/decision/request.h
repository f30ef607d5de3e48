// decision/request.h: what is asked and what is answered, after validation; no JSON and no tokens in sight.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace d3::decision {

enum class QuestionType { kChoice, kNoul, kScore };

/// One option of a question. `key` is how the answer names it ("refund"; "false"/"true"; "0", "1", ..);
/// `text` is what the prompt says after its code.
struct Option {
  std::string key;
  std::string text;
};

struct Question {
  std::string id;
  QuestionType type = QuestionType::kChoice;
  std::string instructions;         ///< rendered for the prompt, never empty
  std::vector<Option> options;      ///< prompt order; 1..255 of them (noul: false then true)
  std::vector<std::string> legend;  ///< score only: each level as the answer's legend writes it
};

/// An image or a video: where it is, or the encoded file itself.
struct Medium {
  std::string url = {};              ///< http(s) or data URL, as sent; empty where the file is here
  std::vector<std::byte> file = {};  ///< its bytes

  bool operator==(const Medium&) const = default;
};

/// A validated request.
struct Request {
  std::string model;                ///< as the client named it; may be empty
  std::string request_id;           ///< the client's own, or empty
  std::string state;                ///< rendered for the prompt, never empty
  std::vector<Question> questions;  ///< 1..64, in request order
  std::vector<Medium> images;
  std::vector<Medium> videos;

  bool has_media() const { return !images.empty() || !videos.empty(); }
};

/// A question's answer. probabilities[i] belongs to options[i] of its question.
struct Answer {
  std::vector<double> probabilities;
  size_t best = 0;  ///< index of the first largest probability
};

}  // namespace d3::decision
