// cli/terminal.h: text and bars that fit a line of a terminal.
#pragma once

#include <string>
#include <string_view>

namespace d3::cli {

struct Fitted {
  std::string text;
  int cells = 0;  ///< of a terminal; a wide character takes two
};

/// The text cut to at most `cells` cells, on one line.
Fitted fit(std::string_view text, int cells, bool unicode);

inline constexpr int kBarCells = 20;

/// A bar of at most kBarCells for a share from 0 to 1.
Fitted bar(double share, bool unicode);

}  // namespace d3::cli
