#include "cli/batch_command.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/error.h"
#include "cli/answer_file.h"
#include "cli/batch_input.h"
#include "cli/csv_requests.h"
#include "cli/input.h"
#include "cli/progress_bar.h"
#include "cli/units.h"

namespace d3::cli {
namespace {

constexpr int64_t kMostShownErrors = 20;

File open_input(const std::string& path, const Context& context) {
  if (path == "-") return {context.in, [](std::FILE*) { return 0; }};
  return open_file(path);
}

/// 0 for what has no size, as a pipe.
uint64_t size_of(std::FILE* file) {
  struct stat info {};
  if (::fstat(::fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) return 0;
  return static_cast<uint64_t>(info.st_size);
}

/// What is told on standard error while a batch runs.
class Report {
 public:
  Report(const Context& context, uint64_t bytes) : bytes_(bytes), bar_(context.err, "batch") {}

  void begin(int64_t answered, const char* unit, const std::string& output) {
    resumed_ = answered > 0;
    if (resumed_) bar_.notice(fmt::format("going on after {} {} of {}", unit, answered, output));
  }

  void bad(int64_t line, const std::string& message) {
    if (++bad_ <= kMostShownErrors) bar_.notice(fmt::format("line {}: {}", line, message));
    if (bad_ == kMostShownErrors + 1)
      bar_.notice("more lines cannot be answered; their errors are in the output");
  }

  void show(const BatchProgress& progress) {
    lines_.add(static_cast<uint64_t>(progress.lines));
    input_.add(progress.end);
    last_ = progress;
    if (bytes_ == 0) return;
    if (std::exchange(resumed_, false))
      bar_.begin_at(static_cast<double>(progress.end) / static_cast<double>(bytes_));
    const std::string amounts = fmt::format(
        "{} lines, {:.1f}/s{}", progress.lines, lines_.per_second(),
        time_left_text(static_cast<double>(bytes_ - std::min(progress.end, bytes_)), input_.per_second()));
    bar_.show(static_cast<double>(progress.end) / static_cast<double>(bytes_), amounts);
  }

  void end() {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    const double seconds = std::max(taken.count(), 1e-9);
    bar_.notice(fmt::format("{} lines and {} tokens in {}: {:.1f} lines/s, {:.0f} tokens/s", last_.lines,
                            last_.tokens, time_text(std::chrono::seconds(static_cast<int64_t>(seconds))),
                            static_cast<double>(last_.lines) / seconds,
                            static_cast<double>(last_.tokens) / seconds));
  }

  int64_t bad_lines() const { return bad_; }

 private:
  uint64_t bytes_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  ProgressBar bar_;
  RateMeter lines_;
  RateMeter input_;
  BatchProgress last_;
  int64_t bad_ = 0;
  bool resumed_ = false;
};

}  // namespace

CLI::App* BatchCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("batch", "Answer a file of requests, a line each");
  model_.add_to(*command);
  command
      ->add_option("REQUESTS", input_,
                   "Requests as POST /v1/systemone takes them, one JSON object a line, or with --questions a "
                   "table whose rows are asked about; - for standard input")
      ->required()
      ->type_name("");
  command
      ->add_option("-o,--output", output_,
                   "Where the answers go, a line or row for each request in the same order")
      ->required()
      ->type_name("FILE");
  command->add_flag("--restart", restart_, "Write the output anew, instead of going on after its last line");
  add_table_options(*command);
  command->footer(
      "An answer is the body of POST /v1/systemone with its request's line number before it. A line that "
      "cannot be\n"
      "answered gets {\"line\":N,\"error\":{..}}; the exit code is then 1. Stopped at any moment and run "
      "again, it goes\n"
      "on after the last line of the output. A table's first row names its columns; the output has them all, "
      "and the\n"
      "decisions and their probabilities behind them.\n"
      "Examples: d3 batch ./nano requests.jsonl -o answers.jsonl\n"
      "          d3 batch ./nano tickets.csv --questions questions.json -o answered.csv");
  return command;
}

void BatchCommand::add_table_options(CLI::App& app) {
  CLI::Option* questions = app.add_option(
      "--questions", questions_,
      "REQUESTS is a table (CSV), and these are the questions about each row: a file with a JSON object as a "
      "request's `questions`");
  questions->type_name("FILE")->group("Tables");
  app.add_option("--state-column", state_columns_,
                 "The column whose text is the state; repeated: an object of these columns. Without it, an "
                 "object of all columns")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->needs(questions)
      ->group("Tables");
  app.add_option("--delimiter", delimiter_,
                 "What stands between fields: a character, or tab. Without it a tab in files named .tsv, a "
                 "comma in others")
      ->type_name("CHARACTER")
      ->needs(questions)
      ->group("Tables");
  app.add_flag("--probabilities", probabilities_, "A column for every option's probability too")
      ->needs(questions)
      ->group("Tables");
}

char BatchCommand::delimiter() const {
  if (delimiter_.empty()) return input_.ends_with(".tsv") ? '\t' : ',';
  return delimiter_ == "tab" || delimiter_ == "\\t" ? '\t' : delimiter_.front();
}

void BatchCommand::check_options() const {
  if (!is_table() && (input_.ends_with(".csv") || input_.ends_with(".tsv")))
    throw UsageError(fmt::format("{} is a table: --questions says what to ask about its rows", input_));
  const char c = delimiter();
  const bool is_one = delimiter_.size() <= 1 || c == '\t';
  if (!is_one || c == '"' || c == '\n' || c == '\r' || static_cast<unsigned char>(c) > 127)
    throw UsageError(fmt::format("--delimiter {} is neither one character of ASCII nor tab", delimiter_));
}

engine::LoadOptions BatchCommand::load_options(const Context& context) const {
  engine::LoadOptions options = model_.load_options(context);
  options.engine.max_queued_requests = BatchOptions{}.max_requests + 1;
  options.engine.max_queue_time = std::chrono::milliseconds(0);  // the batch itself waits for room
  options.engine.whole_requests = true;  // a batch that was stopped ends as one that was not
  return options;
}

int BatchCommand::run(const Context& context) {
  check_options();
  const File file = open_input(input_, context);
  AnswerFile output(output_, restart_);
  std::unique_ptr<BatchInput> input;
  if (is_table())
    input = std::make_unique<TableInput>(file.get(), input_, read_file(questions_), state_columns_,
                                         CsvForm{.delimiter = delimiter(), .probabilities = probabilities_});
  else
    input = std::make_unique<LineInput>(file.get(), input_, model_.name());
  const int64_t answered = input->go_on_with(output);
  const engine::LoadOptions options = load_options(context);
  const auto model = load_model(options, context);
  Report report(context, size_of(file.get()));
  report.begin(answered, input->unit(), output_);
  Batch batch(
      *model, input->form(),
      {.max_requests = BatchOptions{}.max_requests,
       .max_tokens = std::max(BatchOptions{}.max_tokens, 16 * options.engine.max_batch_tokens)},
      [&](const std::string& answers, const BatchProgress& progress) {
        output.write(answers);
        report.show(progress);
      },
      [&](int64_t line, const std::string& message) { report.bad(line, message); });
  while (input->add_next(batch)) {
  }
  batch.finish();
  report.end();
  if (report.bad_lines() == 0) return kSuccess;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} lines could not be answered; their lines in {} say why", report.bad_lines(), output_));
}

}  // namespace d3::cli
