// ask MODEL STATE [IMAGE...]: asks a model two questions about a text and images.
#include <cstdio>
#include <utility>

#include <d3/d3.h>

namespace {

int complain(const d3::Failure& failure) {
  std::fprintf(stderr, "ask: %s (%s)\n", failure.message.c_str(),
               std::string(d3::failure_code_name(failure.code)).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: ask MODEL STATE [IMAGE...]\n", stderr);
    return 2;
  }
  const auto model = d3::Model::load(argv[1]);
  if (!model) return complain(model.failure());

  d3::Request request;
  request.state = argv[2];
  request.questions = {
      d3::Question::choice(
          "kind", "What kind of work is this?",
          {{"code", "Writing or fixing code"}, {"math", "Mathematics"}, {"chat", "Anything else"}}),
      d3::Question::noul("reasoning", "Does answering this need multi-step reasoning?")};
  for (int i = 3; i < argc; ++i) request.images.push_back(d3::Media::file(argv[i]));

  const auto reply = model->ask(std::move(request));
  if (!reply) return complain(reply.failure());
  for (const d3::Answer& answer : reply->answers) {
    std::printf("%s: %s\n", answer.id.c_str(), answer.decision().c_str());
    for (const d3::OptionProbability& option : answer.options)
      std::printf("  %s %.17g\n", option.key.c_str(), option.probability);
  }
  return 0;
}
