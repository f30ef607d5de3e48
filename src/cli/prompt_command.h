// cli/prompt_command.h: `d3 prompt MODEL`.
#pragma once

#include "cli/command.h"
#include "cli/media_files.h"
#include "cli/model_source.h"

namespace d3::cli {

/// A request as JSON in, a line for each question out: {"question":id,"prompt":text,"input_ids":[..]}. The
/// text has one pad for each image and video, the ids have all.
class PromptCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  ModelSource model_;
  MediaFiles media_;
};

}  // namespace d3::cli
