#include "server/access_log.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/write.h"

namespace d3::server {
namespace {

constexpr size_t kLongest = 200;

double in_milliseconds(std::chrono::duration<double> time) { return time.count() * 1e3; }

void append_text(std::string& line, const Exchange& exchange) {
  const RequestHead& head = exchange.head;
  line += fmt::format(
      "{} {} {} {} {:.1f} ms", head.request_id, head.method.empty() ? "-" : loggable(head.method),
      head.path.empty() ? "-" : loggable(head.path), exchange.reply.status, in_milliseconds(exchange.taken));
  if (!exchange.reply.work) return;
  const Work& work = *exchange.reply.work;
  line += fmt::format(", {} questions, {} tokens", work.questions, work.input_tokens);
}

void append_json(std::string& line, const Exchange& exchange) {
  const RequestHead& head = exchange.head;
  line += R"("id":)";
  json::append_untrusted_string(line, head.request_id);
  line += fmt::format(R"(,"method":"{}","path":"{}","status":{},"ms":{:.3f},"bytes_in":{},"bytes_out":{})",
                      loggable(head.method), loggable(head.path), exchange.reply.status,
                      in_milliseconds(exchange.taken), exchange.body_bytes, exchange.bytes_out);
  if (!exchange.reply.work) return;
  const Work& work = *exchange.reply.work;
  line += fmt::format(R"(,"questions":{},"input_tokens":{})", work.questions, work.input_tokens);
  for (size_t i = 0; i < kStageNames.size(); ++i)
    if (work.stages[i])
      line += fmt::format(R"(,"{}_ms":{:.3f})", kStageNames[i], in_milliseconds(*work.stages[i]));
}

}  // namespace

std::string loggable(std::string_view text) {
  std::string shown(text.substr(0, kLongest));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c <= ' ' || c >= '\x7f' || c == '"' || c == '\\'; },
      '?');
  return shown;
}

void AccessLog::add(const Exchange& exchange) {
  if (!log_->should_log(spdlog::level::info)) return;
  std::string line;
  line.reserve(256);
  if (format_ == LogFormat::kJson)
    append_json(line, exchange);
  else
    append_text(line, exchange);
  log_->info(line);
}

}  // namespace d3::server
