// cli/units.h: amounts for people.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace d3::cli {

std::string count_text(int64_t value);             ///< "1.37 billion"
std::string bytes_text(int64_t value);             ///< "4.42 GB"
std::string time_text(std::chrono::seconds time);  ///< "0:07", "12:30", "3:00:01"

}  // namespace d3::cli
