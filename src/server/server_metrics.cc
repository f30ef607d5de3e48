#include "server/server_metrics.h"

#include <fstream>
#include <memory>
#include <string>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/routes.h"

namespace d3::server {
namespace {

constexpr size_t kOwnStages = 3;  // the first of kStageNames; the others are the engine's

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_files() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), &::closedir);
  if (!directory) return 0;
  double count = -3;  // ".", ".." and the directory itself
  while (::readdir(directory.get()) != nullptr) ++count;
  return count;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

ServerMetrics::ServerMetrics() {
  registry_.add("d3_http_requests_total", "Requests answered, by route and status.", requests_);
  registry_.add("d3_http_request_seconds", "Time from a request's first byte to its answer's last.",
                {{"asks", "true"}}, seconds_);
  registry_.add("d3_http_request_seconds", "", {{"asks", "false"}}, other_seconds_);
  registry_.add("d3_http_abandoned_total", "Requests whose client went away before the answer.", {},
                abandoned);
  registry_.add("d3_http_received_bytes_total", "Bytes read from clients.", {}, bytes_in);
  registry_.add("d3_http_sent_bytes_total", "Bytes of answers written.", {}, bytes_out);
  registry_.add_gauge("d3_http_connections", "Connections that are open.", {},
                      [this] { return static_cast<double>(connections.load()); });
  registry_.add("d3_http_connections_refused_total", "Connections beyond the limit.", {},
                connections_refused);
  registry_.add("d3_questions_total", "Questions answered.", {}, questions_);
  registry_.add("d3_input_tokens_total", "Tokens of the prompts of the questions answered.", {},
                input_tokens_);
  for (size_t i = 0; i < kOwnStages; ++i) {
    stages_.push_back(std::make_unique<metrics::Histogram>(metrics::time_bounds()));
    registry_.add("d3_stage_seconds", "Time of one request in each stage.",
                  {{"stage", std::string(kStageNames[i])}}, *stages_.back());
  }
  registry_.add_gauge("process_resident_memory_bytes", "Memory in use.", {}, resident_bytes);
  registry_.add_gauge("process_open_fds", "Files and sockets that are open.", {}, open_files);
  registry_.add_counter("process_cpu_seconds_total", "CPU time used.", {}, cpu_seconds);
}

void ServerMetrics::add_answer(std::string_view route, const Reply& reply,
                               std::chrono::duration<double> taken) {
  requests_.at({route.empty() ? "other" : std::string(route), std::to_string(reply.status)}).add();
  const Route* known = find_route(route);
  (known != nullptr && known->asks ? seconds_ : other_seconds_).observe(taken.count());
  if (!reply.work) return;
  questions_.add(reply.work->questions);
  input_tokens_.add(static_cast<uint64_t>(reply.work->input_tokens));
  for (size_t i = 0; i < kOwnStages; ++i)
    if (reply.work->stages[i]) stages_[i]->observe(reply.work->stages[i]->count());
}

void ServerMetrics::add_build(const std::string& version) {
  registry_.add_gauge("d3_build_info", "Always 1.", {{"version", version}}, [] { return 1.0; });
}

void ServerMetrics::add_readiness(Readiness& readiness) {
  registry_.add_gauge("d3_ready", "1 when requests are answered, 0 while loading and stopping.", {},
                      [&readiness] { return readiness.is_ready() ? 1.0 : 0.0; });
}

void ServerMetrics::add_model(const ServingModel& model) {
  const engine::Engine& engine = model.model->engine();
  const engine::EngineMetrics& counts = engine.metrics();
  registry_.add_gauge("d3_model_info", "Always 1.",
                      {{"model", model.served.names.front()}, {"dtype", engine.dtype_name()}},
                      [] { return 1.0; });
  registry_.add_gauge("d3_queue_requests", "Requests accepted and not yet answered.", {},
                      [&engine] { return static_cast<double>(engine.state().requests); });
  registry_.add_gauge("d3_queue_tokens", "Tokens that no batch has taken yet.", {},
                      [&engine] { return static_cast<double>(engine.state().waiting_tokens); });
  registry_.add_gauge("d3_queue_estimated_seconds", "How long the waiting and running work will take.", {},
                      [&engine] { return engine.queue_time().count(); });
  registry_.add("d3_stage_seconds", "", {{"stage", "queue"}}, counts.queue_seconds);
  registry_.add("d3_stage_seconds", "", {{"stage", "forward"}}, counts.forward_seconds);
  registry_.add("d3_batch_seconds", "Time of one batch.", {}, counts.batch_seconds);
  registry_.add("d3_batch_questions", "Questions of one batch.", {}, counts.batch_questions);
  registry_.add("d3_batch_tokens", "Tokens of one batch, shared prefixes counted for each question.", {},
                counts.batch_tokens);
  registry_.add("d3_computed_questions_total", "Questions computed, whether or not their answer was sent.",
                {}, counts.questions);
  registry_.add("d3_computed_tokens_total", "Their tokens.", {}, counts.tokens);
  registry_.add("d3_prefix_hits_total", "Questions whose prefix another of their batch had computed.", {},
                counts.prefix_hits);
  registry_.add("d3_prefix_tokens_total", "Tokens of those prefixes.", {}, counts.prefix_tokens);
  const engine::VisionCache& cache = engine.vision_cache();
  registry_.add_counter("d3_vision_cache_hits_total", "Images and videos whose features were in the cache.",
                        {}, [&cache] { return static_cast<double>(cache.counters().hits); });
  registry_.add_counter("d3_vision_cache_misses_total",
                        "Images and videos that went through the vision tower.", {},
                        [&cache] { return static_cast<double>(cache.counters().misses); });
  registry_.add_gauge("d3_vision_cache_bytes", "What the cache of features holds.", {},
                      [&cache] { return static_cast<double>(cache.counters().bytes); });
  registry_.add("d3_cancelled_total", "Requests taken out of the queue because their client went away.", {},
                counts.cancelled);
  registry_.add("d3_expired_total", "Requests that met --request-timeout.", {}, counts.expired);
  registry_.add("d3_failed_batches_total", "Batches that failed.", {}, counts.failed_batches);
}

}  // namespace d3::server
