// Where tests find their data: small cases in tests/data/, the large ones in the checkout's sibling `shared`
// when it is there.
#pragma once

#include <filesystem>
#include <string>

namespace d3::test {

/// tests/data/<name> of this source tree.
inline std::filesystem::path data_path(const std::string& name) {
  return std::filesystem::path(D3_SOURCE_DIR) / "tests" / "data" / name;
}

/// The large golden data beside the checkout; tests that need it skip when it is absent.
inline std::filesystem::path shared_path(const std::string& name) {
  return std::filesystem::path(D3_SOURCE_DIR) / ".." / "shared" / name;
}

/// The built `d3` program.
inline std::filesystem::path d3_binary() { return D3_BINARY; }

}  // namespace d3::test
