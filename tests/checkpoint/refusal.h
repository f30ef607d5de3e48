// tests/checkpoint/refusal.h: what every refusal of a checkpoint must be: one line, the right code, and the
// names.
#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::checkpoint {

struct Refusal {
  std::string field;                 ///< Error::field()
  std::vector<std::string> message;  ///< parts of Error::what(), in order
  ErrorCode code = ErrorCode::kBadCheckpoint;
};

/// Runs `action`, which must throw that Error with a message of one line.
template <typename Action>
void expect_refused(const Refusal& refusal, const Action& action) {
  try {
    action();
    ADD_FAILURE() << "accepted; expected a refusal of " << refusal.field;
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(error_code_name(error.code()), error_code_name(refusal.code)) << what;
    EXPECT_EQ(error.field(), refusal.field) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    size_t at = 0;
    for (const std::string& part : refusal.message) {
      const size_t found = what.find(part, at);
      EXPECT_NE(found, std::string::npos) << "no \"" << part << "\" in its place in: " << what;
      if (found != std::string::npos) at = found + part.size();
    }
  }
}

}  // namespace d3::checkpoint
