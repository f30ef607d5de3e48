#include "cli/model_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/progress.h"
#include "demo/demo.h"

namespace d3::cli {

void add_verify(CLI::App& app, std::string& verify) {
  app.add_option("--verify", verify,
                 "Check the files against MODEL_MANIFEST.json: fast (digests of files up to 64 MiB, sizes of "
                 "larger ones), full (all digests), none")
      ->type_name("fast|full|none")
      ->check(CLI::IsMember({"fast", "full", "none"}).description(""))
      ->capture_default_str();
}

checkpoint::Verify verify_from(const std::string& name) {
  if (name == "full") return checkpoint::Verify::kFull;
  return name == "none" ? checkpoint::Verify::kNone : checkpoint::Verify::kFast;
}

void ModelOptions::add_to(CLI::App& app) {
  source_.add_to(app);
  app.add_option("--dtype", dtype_,
                 "Arithmetic: bfloat16 (fast), float32 (exact), int8 (weights quantised on load: half the "
                 "memory, less exact), or auto: bfloat16")
      ->type_name("auto|bfloat16|float32|int8")
      ->check(CLI::IsMember({"auto", "bfloat16", "float32", "int8"}).description(""))
      ->capture_default_str();
  app.add_option("--threads", threads_, "Threads that compute; 0: every CPU the process may use")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""))
      ->capture_default_str();
  app.add_option("--max-length", max_length_,
                 "Most tokens in one question's prompt, instead of the checkpoint's own limit")
      ->type_name("N")
      ->check(CLI::Range(int64_t{16}, int64_t{1} << 24).description(""));
  app.add_option("--max-batch-tokens", max_batch_tokens_,
                 "Tokens computed together; more makes others wait longer")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24).description(""))
      ->capture_default_str();
  add_verify(app, verify_);
}

engine::LoadOptions ModelOptions::load_options(const Context& context) const {
  engine::LoadOptions options;
  options.directory = source_.folder(context);
  options.verify = verify_from(verify_);
  options.dtype = cpu::dtype_from_name(dtype_).value_or(options.dtype);  // auto: the default
  options.threads = threads_;
  options.cpu_target = context.cpu_target;
  options.max_length = max_length_;
  options.engine.max_batch_tokens = max_batch_tokens_;
  return options;
}

std::unique_ptr<engine::DecisionModel> load_model(engine::LoadOptions options, const Context& context) {
  std::unique_ptr<engine::DecisionModel> model;
  {
    ProgressLine progress(context.err, "d3: loading " + options.directory.path().string());
    options.on_progress = [&](double share) { progress.show(share); };
    model = engine::load_model(options);
  }
  if (options.directory.embedded() && context.err.terminal)
    context.err.print(fmt::format("d3: {} is {}\n", demo::kName, demo::kDescription));
  return model;
}

}  // namespace d3::cli
