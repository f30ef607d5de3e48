// cli/cli11.h: the names of CLI11 that headers need. The library itself takes seconds to compile wherever it
// is included (cli/CMakeLists.txt), so only what defines options or reads them does.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
