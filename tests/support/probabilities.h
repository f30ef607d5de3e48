// tests/support/probabilities.h: the numbers of an answer of POST /v1/systemone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "json/number.h"
#include "json/parse.h"

namespace d3::test {

/// All probabilities of all answers, in order; empty when the body is no answer.
inline std::vector<double> probabilities_of(const std::string& body) {
  std::vector<double> all;
  const json::Value value = json::parse(body);
  const json::Value* answers = value.find("answers");
  if (answers == nullptr) return all;
  for (const json::Member& answer : answers->as_object())
    for (const json::Member& option : answer.value.find("probabilities")->as_object())
      all.push_back(json::to_double(option.value.as_number()).value());
  return all;
}

/// max |a - b|, infinite when they do not match at all.
inline double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
  double gap = 0;
  for (size_t i = 0; i < a.size(); ++i) gap = std::max(gap, std::abs(a[i] - b[i]));
  return gap;
}

}  // namespace d3::test
