// tests/support/micro_checkpoint.h: a fixture for tests of the program: the smallest checkpoint, written once
// a suite.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "support/checkpoint_writer.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::test {

class MicroCheckpointTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    const auto tokenizer = data_path("tokenizer-small");
    write_checkpoint(preset("micro", tokenizer), tokenizer, directory_->path());
  }
  static void TearDownTestSuite() { directory_.reset(); }

  static std::string checkpoint() { return directory_->path().string(); }

 private:
  static inline std::unique_ptr<TemporaryDirectory> directory_;
};

}  // namespace d3::test
