#include "cli/self_test.h"

#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "demo/demo.h"
#include "engine/load.h"

namespace d3::cli {
namespace {

constexpr const char* kRight = "sport";

std::shared_ptr<const decision::Request> question() {
  decision::Question question{.id = "topic",
                              .type = decision::QuestionType::kChoice,
                              .instructions = "What is this about?",
                              .options = {{"food", "food"}, {kRight, kRight}, {"music", "music"}},
                              .legend = {}};
  decision::Request request;
  request.state = "The goalkeeper saved the penalty, and our team won the match.";
  request.questions.push_back(std::move(question));
  return std::make_shared<decision::Request>(std::move(request));
}

/// The key of the option that is chosen; none where this machine has no such arithmetic.
std::optional<std::string> decision_in(cpu::Dtype dtype, const std::string& cpu_target) {
  engine::LoadOptions options;
  options.directory = demo::folder();
  options.dtype = dtype;
  options.cpu_target = cpu_target;
  try {
    const auto model = engine::load_model(options);
    const auto request = question();
    const auto answers = model->answer(model->preparer().prepare(request));
    return request->questions.front().options.at(answers.front().best).key;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return std::nullopt;
  }
}

}  // namespace

Finding self_test(const std::string& cpu_target) {
  std::vector<std::string_view> tried;
  for (const cpu::Dtype dtype : {cpu::Dtype::kBfloat16, cpu::Dtype::kInt8, cpu::Dtype::kFloat32}) {
    const auto decision = decision_in(dtype, cpu_target);
    if (!decision) continue;
    tried.push_back(cpu::dtype_name(dtype));
    if (*decision != kRight)
      return {.name = "self-test",
              .value = fmt::format("demo answers wrongly in {}", tried.back()),
              .note = "this machine computes other numbers than it should: please report its processor",
              .state = Finding::State::kBad};
  }
  return {.name = "self-test", .value = fmt::format("demo answers rightly in {}", fmt::join(tried, ", "))};
}

}  // namespace d3::cli
