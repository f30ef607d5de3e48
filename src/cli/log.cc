#include "cli/log.h"

#include <string_view>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "json/write.h"
#include "server/access_log.h"

namespace d3::cli {
namespace {

/// `"message":"..."`, or what the server's access log gives as it is.
class JsonMembers : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string_view payload(message.payload.data(), message.payload.size());
    if (std::string_view(message.logger_name.data(), message.logger_name.size()) == server::kAccessLogName) {
      out.append(payload.data(), payload.data() + payload.size());
      return;
    }
    std::string text = R"("message":)";
    json::append_untrusted_string(text, payload);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JsonMembers>(); }
};

}  // namespace

std::shared_ptr<spdlog::logger> make_log(const std::string& level, server::LogFormat format) {
  auto log = std::make_shared<spdlog::logger>("d3", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_level(spdlog::level::from_str(level));
  log->flush_on(spdlog::level::trace);
  if (format == server::LogFormat::kText) {
    log->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    return log;
  }
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JsonMembers>('*').set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%*})");
  log->set_formatter(std::move(formatter));
  return log;
}

}  // namespace d3::cli
