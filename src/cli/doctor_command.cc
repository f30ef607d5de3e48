#include "cli/doctor_command.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

#include <CLI/CLI.hpp>
#include <dnnl.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/self_test.h"
#include "cli/units.h"
#include "cpu/arithmetic.h"
#include "hub/cache.h"
#include "hub/model_name.h"
#include "hub/network_check.h"
#include "json/write.h"

namespace d3::cli {
namespace {

using State = Finding::State;

constexpr int64_t kGigabyte = 1'000'000'000;
constexpr int64_t kRoomyMemory = 4 * kGigabyte;  // nano in bfloat16 and what surrounds it

/// A file's text; empty when it cannot be read.
std::string text_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What stands behind "key :" in a file of such lines.
std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    return line.substr(std::min(line.size(), line.find_first_not_of(" \t", colon + 1)));
  }
  return {};
}

Finding processor() {
  const std::string info = text_of("/proc/cpuinfo");
  const std::string flags = ' ' + value_of(info, "flags") + ' ';
  std::vector<std::string> found;
  for (const char* flag :
       {"avx2", "fma", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8"})
    if (flags.find(std::string(" ") + flag + ' ') != std::string::npos) found.emplace_back(flag);
  Finding finding{.name = "processor",
                  .value = fmt::format("{}; {}", value_of(info, "model name"), fmt::join(found, " "))};
  if (std::ranges::find(found, "avx2") == found.end()) {
    finding.state = State::kSlow;
    finding.note = "without AVX2 every model is slow";
  }
  return finding;
}

Finding kernels(const Context& context) {
  const cpu::KernelTable& chosen = cpu::select_kernel_table(context.cpu_target);
  std::vector<std::string> names;
  for (const cpu::KernelTable* table : cpu::supported_kernel_tables()) names.emplace_back(table->name);
  Finding finding{.name = "kernels", .value = fmt::format("{} of {}", chosen.name, fmt::join(names, ", "))};
  if (chosen.name != names.front()) {
    finding.state = State::kSlow;
    finding.note = fmt::format("D3_CPU_TARGET asks for {}; {} is faster", chosen.name, names.front());
  }
  return finding;
}

Finding arithmetic(const Context& context) {
  cpu::Machine machine(cpu::select_kernel_table(context.cpu_target), 1);
  const cpu::Bf16Rates rates = cpu::measure_bf16_rates(machine);
  const cpu::Int8Rates int8_rates = cpu::measure_int8_rates(machine);
  const bool int8 = std::max(int8_rates.one_scale, int8_rates.grouped) > 0;
  Finding finding{
      .name = "arithmetic",
      .value = fmt::format(
          "a thread multiplies {:.0f} GFLOP/s in bfloat16, {:.0f} in float16, {:.0f} in float32; "
          "int8 {}",
          rates.bfloat16 / 1e9, rates.float16 / 1e9, rates.float32 / 1e9, int8 ? "is there" : "is not")};
  if (!int8) {
    finding.state = State::kSlow;
    finding.note = "no exact int8 here: --dtype int8 is refused";
    if (machine.kernels.int8_needs_vnni)
      finding.note += "; the target avx2 (D3_CPU_TARGET) has it without VNNI";
  } else if (rates.float16 > std::max(rates.bfloat16, rates.float32)) {
    finding.note = "bfloat16 weights are multiplied in float16, which is fastest here and about as exact";
  } else if (rates.float32 > rates.bfloat16) {
    finding.note = "bfloat16 weights are multiplied in float32, which is faster here and exact";
  }
  return finding;
}

Finding processors() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  const int usable_count = ::sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
  Finding finding{
      .name = "CPUs",
      .value = fmt::format("{} of {} may be used", usable_count, ::sysconf(_SC_NPROCESSORS_ONLN))};
  std::istringstream quota(text_of("/sys/fs/cgroup/cpu.max"));
  double time = 0;
  double period = 0;
  if (quota >> time >> period && period > 0 && time / period < usable_count) {
    finding.state = State::kSlow;
    finding.note =
        fmt::format("the control group allows {:.1f} CPUs; --threads should not be more", time / period);
  }
  return finding;
}

Finding memory() {
  const std::string info = text_of("/proc/meminfo");
  const auto bytes = [&](const char* key) {
    int64_t kilobytes = 0;
    std::istringstream(value_of(info, key)) >> kilobytes;
    return kilobytes * 1024;
  };
  int64_t free = bytes("MemAvailable");
  Finding finding{.name = "memory",
                  .value = fmt::format("{} of {} free", bytes_text(free), bytes_text(bytes("MemTotal")))};
  int64_t limit = 0;
  if (std::istringstream(text_of("/sys/fs/cgroup/memory.max")) >> limit && limit < bytes("MemTotal")) {
    finding.value += fmt::format("; the control group allows {}", bytes_text(limit));
    free = std::min(free, limit);
  }
  if (free < kRoomyMemory) {
    finding.state = State::kSlow;
    finding.note =
        fmt::format("models of more than {} are read from the disk again and again", bytes_text(free));
  }
  return finding;
}

Finding huge_pages() {
  std::string text = text_of("/sys/kernel/mm/transparent_hugepage/enabled");
  std::erase(text, '\n');
  Finding finding{.name = "huge pages", .value = text.empty() ? "not known" : text};
  if (text.find("[never]") != std::string::npos) {
    finding.state = State::kSlow;
    finding.note = "transparent huge pages are off; `madvise` or `always` is a little faster";
  }
  return finding;
}

Finding cache(const Context& context) {
  const std::filesystem::path& path = context.hub.cache;
  const auto models = hub::list_models(path);
  Finding finding{.name = "cache", .value = fmt::format("{}: {} models", path.string(), models.size())};
  std::filesystem::path there = path;
  std::error_code error;
  while (!std::filesystem::exists(there, error) && there.has_parent_path() && there != there.parent_path())
    there = there.parent_path();
  const auto space = std::filesystem::space(there, error);
  if (!error) finding.value += fmt::format(", {} free", bytes_text(static_cast<int64_t>(space.available)));
  if (!std::filesystem::is_directory(there, error) || ::access(there.c_str(), W_OK) != 0) {
    finding.state = State::kBad;
    finding.note =
        fmt::format("{} is no directory to write to: no model can be pulled (HF_HUB_CACHE names another)",
                    there.string());
  }
  return finding;
}

/// The token itself is shown nowhere.
Finding token(const Context& context) {
  try {
    return {.name = "token",
            .value = hub::read_token(context.hub) ? "there is one" : "none; only gated models need one"};
  } catch (const Error& error) {
    return {.name = "token", .value = "cannot be used", .note = error.what(), .state = State::kBad};
  }
}

Finding hub_answer(const Context& context, const hub::TokenCheck& check) {
  return {.name = "hub",
          .value = fmt::format("{} answers in {:.2f} s", context.hub.endpoint, check.taken.count())};
}

Finding known_token(const hub::TokenCheck& check) {
  using Known = hub::TokenCheck::State;
  Finding finding{.name = "token", .value = "none; only gated models need one"};
  if (check.state == Known::kKnown) finding.value = fmt::format("the hub knows it as {}'s", check.user);
  if (check.state == Known::kUnasked) finding.value = "there is one; this hub does not say whose";
  if (check.state == Known::kRefused)
    finding = {.name = "token",
               .value = "the hub does not know it",
               .note = "make another at the hub; HF_TOKEN or the token file hold it",
               .state = State::kBad};
  return finding;
}

Finding rate(const Context& context, const std::string& model) {
  constexpr std::chrono::seconds kMost{5};
  constexpr uint64_t kMostBytes = 32'000'000;
  constexpr double kSlowRate = 1e6;
  const hub::ModelName name = hub::parse_owned_model_name(model);
  try {
    const hub::RateCheck check = hub::check_rate(name, context.hub, kMost, kMostBytes);
    const auto amount = [](double bytes) { return bytes_text(static_cast<int64_t>(bytes)); };
    const double bytes = static_cast<double>(check.bytes);
    if (check.taken.count() <= 0)
      return {.name = "rate", .value = fmt::format("{} came at once: too little to tell", amount(bytes))};
    const double rate = bytes / check.taken.count();
    Finding finding{.name = "rate",
                    .value = fmt::format("{}/s over one connection from {} ({} of {})", amount(rate),
                                         check.host, amount(bytes), to_text(name))};
    if (rate < kSlowRate) {
      finding.state = State::kSlow;
      const std::chrono::seconds time(
          static_cast<int64_t>(static_cast<double>(check.weight_bytes) / rate / context.hub.connections));
      finding.note = fmt::format("pulling {} takes {} or more", to_text(name), time_text(time));
    }
    return finding;
  } catch (const Error& error) {
    return {.name = "rate", .value = "not known", .note = error.what(), .state = State::kBad};
  }
}

/// What the network says, instead of what the machine alone can tell of the token.
std::vector<Finding> network(const Context& context, const std::string& model) {
  if (context.hub.offline)
    return {{.name = "hub",
             .value = "not asked: HF_HUB_OFFLINE is set",
             .note = "only models in the cache can be used",
             .state = State::kSlow},
            token(context)};
  try {
    const hub::TokenCheck check = hub::check_token(context.hub);
    return {hub_answer(context, check), known_token(check), rate(context, model)};
  } catch (const Error& error) {
    return {{.name = "hub",
             .value = context.hub.endpoint + " cannot be asked",
             .note = error.what(),
             .state = State::kBad},
            token(context)};
  }
}

const char* word_of(State state) {
  constexpr std::array kWords = {"ok", "slow", "bad"};
  return kWords.at(static_cast<size_t>(state));
}

std::string as_json(const std::vector<Finding>& findings) {
  std::string out = "{";
  for (const Finding& finding : findings) {
    if (out.size() > 1) out += ',';
    json::append_string(out, finding.name);
    out += fmt::format(R"(:{{"state":"{}","value":)", word_of(finding.state));
    json::append_untrusted_string(out, finding.value);
    out += R"(,"note":)";
    json::append_untrusted_string(out, finding.note);
    out += '}';
  }
  return out + "}\n";
}

std::string as_text(const std::vector<Finding>& findings, bool colour) {
  constexpr std::array kColours = {"32", "33", "31"};
  std::string out;
  for (const Finding& finding : findings) {
    const std::string word = fmt::format("{:<4}", word_of(finding.state));
    out += colour ? fmt::format("\x1b[{}m{}\x1b[0m", kColours.at(static_cast<size_t>(finding.state)), word)
                  : word;
    out += fmt::format("  {:<10}  {}\n", finding.name, finding.value);
    if (!finding.note.empty()) out += fmt::format("{:18}{}\n", "", finding.note);
  }
  return out;
}

}  // namespace

CLI::App* DoctorCommand::add_to(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("doctor", "Look at this machine: what is there, what will be slow and why");
  command->add_flag("--json", json_, "A JSON object instead of text");
  CLI::Option* network = command->add_flag(
      "--network", network_, "Ask the hub too: whether it answers, knows the token, and how fast it sends");
  command
      ->add_option("--model", model_,
                   "With --network: of whose largest file the first bytes are fetched and dropped")
      ->type_name("MODEL")
      ->needs(network)
      ->capture_default_str();
  command->footer(
      "Exit code 1 when models cannot be run, kept or, with --network, pulled here. Without --network no "
      "connection is\nmade.");
  return command;
}

int DoctorCommand::run(const Context& context) {
  const dnnl_version_t* version = dnnl_version();
  std::vector<Finding> findings = {
      processor(),
      kernels(context),
      arithmetic(context),
      {.name = "oneDNN", .value = fmt::format("{}.{}.{}", version->major, version->minor, version->patch)},
      processors(),
      memory(),
      huge_pages(),
      self_test(context.cpu_target),
      cache(context)};
  std::ranges::move(network_ ? network(context, model_) : std::vector<Finding>{token(context)},
                    std::back_inserter(findings));
  context.out.print(json_ ? as_json(findings) : as_text(findings, context.out.colour));
  return std::ranges::any_of(findings, [](const Finding& f) { return f.state == State::kBad; }) ? kFailure
                                                                                                : kSuccess;
}

}  // namespace d3::cli
