// cli/serve_command.h: `d3 serve MODEL`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/media_options.h"
#include "cli/model_options.h"
#include "server/options.h"

namespace d3::cli {

class ServeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  void add_listening(CLI::App& app);
  void add_access(CLI::App& app);
  void add_limits(CLI::App& app);
  server::LogFormat log_format() const;
  server::ServerOptions server_options() const;
  engine::LoadOptions load_options(const Context& context) const;

  ModelOptions model_;
  MediaOptions media_;
  std::string host_;
  uint16_t port_ = 0;
  std::string unix_path_;
  std::string tls_certificate_;
  std::string tls_key_;
  std::vector<std::string> served_names_;
  std::vector<std::string> api_keys_;
  std::string api_key_file_;
  std::vector<std::string> cors_origins_;
  bool no_playground_ = false;
  std::string log_level_ = "info";
  std::string log_format_ = "text";
  size_t max_body_ = 0;
  size_t max_header_ = 0;
  int workers_ = 0;
  double idle_timeout_ = 0;
  double header_timeout_ = 0;
  double body_timeout_ = 0;
  double write_timeout_ = 0;
  size_t max_queue_ = 0;
  size_t max_connections_ = 0;
  double max_queue_seconds_ = 0;
  double request_timeout_ = 0;  ///< seconds; 0: none
  double drain_timeout_ = 0;
};

}  // namespace d3::cli
