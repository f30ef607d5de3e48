// cli/self_test.h: whether models answer on this machine, tried with the one inside the program.
#pragma once

#include <string>

#include "cli/doctor_command.h"

namespace d3::cli {

/// Asks demo an easy question in every arithmetic that this machine has: bad where an answer is another than
/// it is everywhere. `cpu_target` as cpu::ExecutorOptions has it.
Finding self_test(const std::string& cpu_target);

}  // namespace d3::cli
