#include "cli/serve_command.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/log.h"
#include "cli/progress.h"
#include "demo/demo.h"
#include "server/api_keys.h"
#include "server/server.h"

namespace d3::cli {
namespace {

using std::chrono::milliseconds;

milliseconds to_milliseconds(double seconds) { return milliseconds(static_cast<int64_t>(seconds * 1000)); }

double to_seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

void add_seconds(CLI::App& app, const char* name, double& seconds, milliseconds standard, const char* help) {
  seconds = to_seconds(standard);
  app.add_option(name, seconds, help)
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e6).description(""))
      ->capture_default_str();
}

/// The names clients may use: those chosen, or the path as typed and what the manifest says.
std::vector<std::string> names_of(const std::vector<std::string>& chosen, const std::string& directory,
                                  const engine::ModelInfo& info) {
  if (!chosen.empty()) return chosen;
  std::vector<std::string> names = {directory};
  for (const std::string& name : {info.repo_id, info.model_name})
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

/// One line for people.
std::string description_of(const engine::LoadOptions& options, const std::string& name,
                           const engine::ModelInfo& info) {
  if (options.directory.embedded()) return std::string(demo::kDescription);
  return info.model_name.empty() ? name : info.model_name;
}

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

CLI::App* ServeCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("serve", "Answer over HTTP");
  model_.add_to(*command);
  add_listening(*command);
  add_access(*command);
  add_limits(*command);
  media_.add_to(*command);
  command->footer(
      "SIGTERM and SIGINT stop the server when what it has accepted is answered.\n"
      "Examples: d3 serve demo\n"
      "          d3 serve ./nano --port 8080 --served-model-name nano");
  return command;
}

void ServeCommand::add_listening(CLI::App& app) {
  const server::ServerOptions defaults;
  host_ = defaults.host;
  port_ = defaults.port;
  CLI::Option* host = app.add_option("--host", host_, "Address to listen on; 0.0.0.0 for all of IPv4");
  host->capture_default_str();
  CLI::Option* port =
      app.add_option("--port", port_, "Port to listen on; 0 takes a free one, which is printed");
  port->type_name("N")->capture_default_str();
  CLI::Option* tls_certificate = app.add_option("--tls-cert", tls_certificate_,
                                                "Serve HTTPS with this certificate (PEM, with its chain)");
  CLI::Option* tls_key = app.add_option("--tls-key", tls_key_, "The certificate's key (PEM)");
  tls_certificate->type_name("FILE")->needs(tls_key);
  tls_key->type_name("FILE")->needs(tls_certificate);
  app.add_option("--unix", unix_path_, "Listen on this Unix socket instead of an address and port")
      ->type_name("PATH")
      ->excludes(host)
      ->excludes(port)
      ->excludes(tls_certificate);
}

void ServeCommand::add_access(CLI::App& app) {
  app.add_option("--served-model-name", served_names_,
                 "Name of the model for clients, instead of MODEL and the manifest's names (may be repeated)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--api-key", api_keys_,
                 "Answer only requests with `Authorization: Bearer KEY` (may be repeated). The variable "
                 "and a file are not seen by other users of the machine")
      ->type_name("KEY")
      ->allow_extra_args(false);
  app.add_option("--api-key-file", api_key_file_,
                 "The same with the keys of a file, one a line; # begins a comment")
      ->type_name("FILE");
  app.add_option("--cors-origin", cors_origins_,
                 "Let web pages of this origin ask from a browser, * for all (may be repeated)")
      ->type_name("ORIGIN")
      ->allow_extra_args(false);
  app.add_flag("--no-playground", no_playground_, "Show no page at GET /");
  app.add_option("--log-level", log_level_, "What is logged to standard error; info has a line per request")
      ->type_name("debug|info|warn|error|off")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}).description(""))
      ->capture_default_str();
  app.add_option("--log-format", log_format_, "Lines of text, or a JSON object a line")
      ->type_name("text|json")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->capture_default_str();
}

void ServeCommand::add_limits(CLI::App& app) {
  const server::ServerOptions server;
  const engine::EngineOptions engine;
  max_body_ = server.max_body;
  max_header_ = server.max_header;
  max_connections_ = server.max_connections;
  drain_timeout_ = to_seconds(server.drain_timeout);
  max_queue_ = engine.max_queued_requests;
  max_queue_seconds_ = to_seconds(engine.max_queue_time);
  app.add_option("--max-body", max_body_, "Most bytes of a request's body; takes suffixes as in 64MiB")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->default_str("64MiB");
  app.add_option("--max-header", max_header_, "Most bytes of a request's line and headers")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(CLI::Range(size_t{256}, size_t{1} << 20U).description(""))
      ->default_str("16KiB");
  app.add_option("--workers", workers_, "Threads that parse and tokenize; 0: as many as the CPUs, at most 4")
      ->type_name("N")
      ->check(CLI::Range(0, 256).description(""))
      ->capture_default_str();
  app.add_option("--max-connections", max_connections_, "Most clients at once")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  app.add_option("--max-queue", max_queue_, "Most requests accepted and not yet answered; more get 429")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->capture_default_str();
  app.add_option("--max-queue-seconds", max_queue_seconds_,
                 "Answer 429 while the waiting requests would take longer than this; 0: never")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->capture_default_str();
  app.add_option("--request-timeout", request_timeout_,
                 "Seconds after which an unanswered request gets 504; 0: never")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->capture_default_str();
  add_seconds(app, "--idle-timeout", idle_timeout_, server.idle_timeout,
              "Seconds between two requests of a connection");
  add_seconds(app, "--header-timeout", header_timeout_, server.header_timeout,
              "Seconds from a request's first byte to the end of its headers");
  add_seconds(app, "--body-timeout", body_timeout_, server.body_timeout,
              "Seconds without a byte of a request's body");
  add_seconds(app, "--write-timeout", write_timeout_, server.write_timeout,
              "Seconds in which a client takes the whole answer");
  app.add_option("--drain-timeout", drain_timeout_,
                 "Seconds to answer what was accepted when the server is stopped")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->capture_default_str();
}

server::LogFormat ServeCommand::log_format() const {
  return log_format_ == "json" ? server::LogFormat::kJson : server::LogFormat::kText;
}

server::ServerOptions ServeCommand::server_options() const {
  server::ServerOptions options;
  options.host = host_;
  options.port = port_;
  options.version = D3_VERSION;
  options.unix_path = unix_path_;
  options.tls_certificate = tls_certificate_;
  options.tls_key = tls_key_;
  options.api_keys = api_keys_;
  if (!api_key_file_.empty())
    std::ranges::move(server::read_api_keys(api_key_file_), std::back_inserter(options.api_keys));
  options.cors_origins = cors_origins_;
  options.playground = !no_playground_;
  options.log_format = log_format();
  options.max_body = max_body_;
  options.max_header = max_header_;
  options.workers = workers_;
  options.max_pending_body_bytes = std::max(options.max_pending_body_bytes, 2 * max_body_);
  options.max_connections = max_connections_;
  if (request_timeout_ > 0) options.request_timeout = to_milliseconds(request_timeout_);
  options.idle_timeout = to_milliseconds(idle_timeout_);
  options.header_timeout = to_milliseconds(header_timeout_);
  options.body_timeout = to_milliseconds(body_timeout_);
  options.write_timeout = to_milliseconds(write_timeout_);
  options.drain_timeout = to_milliseconds(drain_timeout_);
  return options;
}

engine::LoadOptions ServeCommand::load_options(const Context& context) const {
  engine::LoadOptions options = model_.load_options(context);
  media_.apply_to(options);
  options.engine.max_queued_requests = max_queue_;
  options.engine.max_queue_time = to_milliseconds(max_queue_seconds_);
  return options;
}

int ServeCommand::run(const Context& context) {
  const auto log = make_log(log_level_, log_format());
  server::Server server(server_options(), log);
  context.out.print(fmt::format("d3: listening on {}\n", server.url()));
  context.out.flush();
  const bool in_time = server.run([&](const std::function<void(double)>& report) {
    const auto start = std::chrono::steady_clock::now();
    ProgressLine progress(context.err, "d3: loading " + model_.name());
    engine::LoadOptions options = load_options(context);
    options.on_progress = [&](double share) {
      progress.show(share);
      report(share);
    };
    server::ServingModel serving{.model = engine::load_model(options), .served = {}};
    const engine::ModelInfo& info = serving.model->info();
    serving.served = {.names = names_of(served_names_, model_.name(), info),
                      .created = unix_seconds(),
                      .max_model_len = info.max_length,
                      .takes_media = info.takes_media,
                      .description = description_of(options, model_.name(), info)};
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    log->info(fmt::format("ready: {} in {}, loaded in {:.1f} s", serving.served.names.front(),
                          serving.model->engine().dtype_name(), taken.count()));
    if (options.directory.embedded()) log->info(fmt::format("{} is {}", demo::kName, demo::kDescription));
    return serving;
  });
  if (in_time) return kSuccess;
  log->flush();
  std::_Exit(kFailure);  // the batch that still runs cannot be interrupted, and nobody waits for it
}

}  // namespace d3::cli
