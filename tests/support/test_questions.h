// tests/support/test_questions.h: the request that most server tests send, and what of its answer they
// compare.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "support/http_client.h"

namespace d3::test {

/// A systemone body with a choice and a noul question about `state`.
inline std::string ask(const std::string& state) {
  return R"({"state":")" + state +
         R"(","questions":{"kind":{"type":"choice","instructions":"Which?","criteria":{"a":"x","b":"y","c":null}},)"
         R"("sure":{"type":"noul","instructions":"Sure?"}}})";
}

/// The answer without what differs from one request to the next.
inline std::string answers(const HttpResponse& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  const size_t at = response.body.find("\"answers\"");
  return at == std::string::npos ? response.body : response.body.substr(at);
}

}  // namespace d3::test
