#include "cli/terminal.h"

#include <algorithm>
#include <cmath>

#include <utf8proc.h>

namespace d3::cli {

Fitted fit(std::string_view text, int cells, bool unicode) {
  Fitted fitted;
  size_t at = 0;
  size_t end_before_mark = 0;
  int cells_before_mark = 0;
  while (at < text.size()) {
    utf8proc_int32_t code = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at);
    const auto length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    const bool control = length <= 0 || utf8proc_category(code) == UTF8PROC_CATEGORY_CC ||
                         utf8proc_category(code) == UTF8PROC_CATEGORY_CF ||
                         utf8proc_category(code) == UTF8PROC_CATEGORY_ZL ||
                         utf8proc_category(code) == UTF8PROC_CATEGORY_ZP;
    const int width = control ? 1 : utf8proc_charwidth(code);
    if (fitted.cells + width > cells) {
      fitted.text.resize(end_before_mark);
      fitted.text += unicode ? "…" : ".";
      fitted.cells = cells_before_mark + 1;
      return fitted;
    }
    fitted.text += control ? std::string_view(" ") : text.substr(at, static_cast<size_t>(length));
    fitted.cells += width;
    if (fitted.cells < cells) {
      end_before_mark = fitted.text.size();
      cells_before_mark = fitted.cells;
    }
    at += static_cast<size_t>(std::max<utf8proc_ssize_t>(length, 1));
  }
  return fitted;
}

Fitted bar(double share, bool unicode) {
  const double cells = std::clamp(share, 0.0, 1.0) * kBarCells;
  if (!unicode) {
    const auto whole = static_cast<int>(std::lround(cells));
    return {std::string(static_cast<size_t>(whole), '#'), whole};
  }
  static constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(cells * 8));
  Fitted drawn{.text = {}, .cells = (eighths + 7) / 8};
  for (int i = 0; i < eighths / 8; ++i) drawn.text += "█";
  drawn.text += kEighths[eighths % 8];
  return drawn;
}

}  // namespace d3::cli
