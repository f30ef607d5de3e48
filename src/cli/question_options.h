// cli/question_options.h: a request put together from options of the command line.
#pragma once

#include <string>
#include <vector>

#include "cli/cli11.h"

namespace d3::cli {

/// --choice, --noul, --score and the --option that belong to each, in the order of the command line.
class QuestionOptions {
 public:
  void add_to(CLI::App& app);

  bool empty() const { return questions_.empty(); }

  /// The body of a request as POST /v1/systemone takes it. What the values break of its rules is found there.
  /// Throws UsageError when two questions have the same id.
  std::string body(const std::string& state) const;

 private:
  struct Question {
    std::string type;
    std::string id;
    std::string instructions;
    std::vector<std::string> options;
  };
  void add_question(const std::string& type, const std::string& text);
  void add_option(const std::string& text);

  std::vector<Question> questions_;
};

}  // namespace d3::cli
