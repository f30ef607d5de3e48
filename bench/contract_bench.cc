// Times what a request costs beside its tokens: JSON -> Request -> prompts, and logits -> Answers -> JSON.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "api/systemone.h"
#include "decision/answer.h"
#include "decision/prompt.h"
#include "json/parse.h"
#include "json/render.h"

namespace {

using namespace d3;

api::ServedModel served() {
  api::ServedModel model;
  model.names = {"d3"};
  return model;
}

const std::string kSmall =
    R"({"state": "Write a Python function that merges two sorted lists.", "questions": {"kind": {"type": "choice",)"
    R"( "instructions": "What kind of work is this?", "criteria": {"code": "Writing or fixing code", "math": "Mathematics",)"
    R"( "chat": "Anything else"}}, "reasoning": {"type": "noul", "instructions": "Does answering this need multi-step reasoning?"}}})";

/// A text of `bytes` bytes, an escape every 40, as a request's state.
std::string large_text(size_t bytes) {
  std::string text = R"({"state": ")";
  while (text.size() < bytes) text += "one more line of a long document, 漢字.\\n";
  return text + R"(", "questions": {"q": {"type": "noul"}}})";
}

/// A state that is an object of `members` members.
std::string large_object(size_t members) {
  std::string text = R"({"state": {)";
  for (size_t i = 0; i < members; ++i)
    text += (i > 0 ? ", \"key " : "\"key ") + std::to_string(i) + "\": [1.5, true, \"v\"]";
  return text + R"(}, "questions": {"q": {"type": "noul"}}})";
}

void request_to_answer(benchmark::State& state, const std::string& body) {
  const api::ServedModel model = served();
  const std::vector<std::string> codes(255, "A");
  const std::vector<float> logits(255, 0.0F);
  for (auto _ : state) {
    const decision::Request request = api::parse_systemone(body, model);
    std::string prompts = decision::prompt_head(request);
    std::vector<decision::Answer> answers;
    for (const decision::Question& question : request.questions) {
      prompts += decision::prompt_tail(question, codes);
      answers.push_back(decision::answer_question(question, logits, 1.0));
    }
    benchmark::DoNotOptimize(prompts);
    benchmark::DoNotOptimize(
        api::write_systemone(request, answers, model, {.request_id = "r", .created = 1, .input_tokens = 1}));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * body.size()));
}

void parse_alone(benchmark::State& state, const std::string& body) {
  for (auto _ : state) benchmark::DoNotOptimize(json::parse(body));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * body.size()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::pair<std::string, std::string>> bodies = {
      {"small", kSmall}, {"text_3MB", large_text(3'000'000)}, {"object_100k", large_object(100'000)}};
  for (const auto& [name, body] : bodies) {
    benchmark::RegisterBenchmark(("request_to_answer/" + name).c_str(), request_to_answer, body);
    benchmark::RegisterBenchmark(("parse/" + name).c_str(), parse_alone, body);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
