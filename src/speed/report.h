// speed/report.h: speeds as tables for people.
#pragma once

#include <string>
#include <string_view>

#include "speed/forward_speed.h"

namespace d3::speed {

/// One line of text with its end; the first has the columns' names.
std::string pass_header();
std::string pass_line(std::string_view name, const PassSpeed& speed);

/// The parts of a pass, a line each: share of its time, and how much of that is in matrix products. Ends with
/// the share of the time that is outside of them.
std::string parts_table(const PassSpeed& speed);

/// Share of the parts' time that no product ran in.
double outside_products(const PassSpeed& speed);

/// What sharing saved, by time and by counted rows.
std::string saving_line(const Saving& saving);

}  // namespace d3::speed
