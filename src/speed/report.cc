#include "speed/report.h"

#include <fmt/format.h>

namespace d3::speed {
namespace {

double total_seconds(const PassSpeed& speed) {
  double seconds = 0;
  for (const model::PartTime& part : speed.parts) seconds += part.seconds;
  return seconds;
}

}  // namespace

std::string pass_header() {
  return fmt::format("  {:<14}{:>11}{:>10}{:>10}{:>12}{:>8}\n", "tokens", "tokens/s", "ms", "GFLOP/s",
                     "products", "ratio");
}

std::string pass_line(std::string_view name, const PassSpeed& speed) {
  const double rate = static_cast<double>(speed.tokens) / speed.seconds;
  std::string line =
      fmt::format("  {:<14}{:>11.1f}{:>10.1f}{:>10.1f}", name, rate, speed.seconds * 1e3, speed.flops / 1e9);
  if (speed.product_rate > 0) line += fmt::format("{:>12.1f}{:>8.3f}", speed.product_rate / 1e9, speed.ratio);
  return line + '\n';
}

double outside_products(const PassSpeed& speed) {
  double products = 0;
  for (const model::PartTime& part : speed.parts) products += part.product_seconds;
  const double total = total_seconds(speed);
  return total > 0 ? 1 - products / total : 0;
}

std::string parts_table(const PassSpeed& speed) {
  const double total = total_seconds(speed);
  if (total <= 0) return {};
  std::string table = fmt::format("  {:<24}{:>9}{:>14}\n", "part", "of time", "in products");
  for (const model::PartTime& part : speed.parts)
    table += fmt::format("  {:<24}{:>7.1f} %{:>12.1f} %\n", part.name, 100 * part.seconds / total,
                         100 * part.product_seconds / total);
  return table + fmt::format("  outside products {:.1f} %\n", 100 * outside_products(speed));
}

std::string saving_line(const Saving& saving) {
  return fmt::format(
      "  {:.1f} ms instead of {:.1f}: {:.1f} % of the time saved, {:.1f} % of the layers' rows\n",
      saving.seconds * 1e3, saving.full_seconds * 1e3, 100 * (1 - saving.seconds / saving.full_seconds),
      100 * (1 - saving.rows_share));
}

}  // namespace d3::speed
