#include "cli/table.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <utf8proc.h>

namespace d3::cli {
namespace {

using decision::Answer;
using decision::Question;
using decision::QuestionType;

constexpr int kBarCells = 20;
constexpr int kMostNameCells = 32;
constexpr int kNumberCells = 8;  // " 100.0 %"

/// The text cut to at most `cells` cells of a terminal (a wide character takes two), on one line.
struct Fitted {
  std::string text;
  int cells = 0;
};

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

std::string bar(double share, bool unicode) {
  const double cells = share * kBarCells;
  if (!unicode) return std::string(static_cast<size_t>(std::lround(cells)), '#');
  static constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(cells * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  return text;
}

/// What the prompt says of an option beside its name.
std::string_view description(const Question& question, size_t option) {
  const auto& [key, text] = question.options[option];
  if (question.type != QuestionType::kChoice) return text;
  if (text.size() > key.size() + 2 && text.starts_with(key))
    return std::string_view(text).substr(key.size() + 2);
  return {};
}

std::string paint(std::string_view code, const std::string& text, const Output& output) {
  return output.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

struct Row {
  Fitted name;
  std::string_view description;
};

std::string option_line(const Row& row, int name_cells, double share, bool chosen, const Output& output) {
  const std::string mark = output.unicode ? "▸" : ">";
  std::string line = fmt::format("  {} {}{}", chosen ? mark : " ",
                                 chosen ? paint("1", row.name.text, output) : row.name.text,
                                 std::string(static_cast<size_t>(name_cells - row.name.cells), ' '));
  line += fmt::format(" {:>5.1f} %", share * 100);
  if (output.terminal) {
    const std::string drawn = bar(share, output.unicode);
    const int cells = output.unicode ? (static_cast<int>(std::lround(share * kBarCells * 8)) + 7) / 8
                                     : static_cast<int>(drawn.size());
    line += ' ' + paint(chosen ? "32" : "2", drawn, output) +
            std::string(static_cast<size_t>(std::max(0, kBarCells - cells)), ' ');
  }
  const int used = 4 + name_cells + kNumberCells + (output.terminal ? kBarCells + 1 : 0) + 2;
  const int room = output.terminal ? output.columns - used - 1 : 1 << 20;
  if (!row.description.empty() && room > 8)
    line += "  " + paint("2", fit(row.description, room, output.unicode).text, output);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

void append_question(std::string& out, const Question& question, const Answer& answer, const Output& output) {
  const int width = output.terminal ? output.columns - 1 : 1 << 20;
  const Fitted id = fit(question.id, std::min(width, kMostNameCells), output.unicode);
  out += paint("1", id.text, output) + "  " +
         fit(question.instructions, std::max(8, width - id.cells - 2), output.unicode).text + '\n';
  std::vector<Row> rows;
  int name_cells = 0;
  for (size_t i = 0; i < question.options.size(); ++i) {
    rows.push_back({.name = fit(question.options[i].key, kMostNameCells, output.unicode),
                    .description = description(question, i)});
    name_cells = std::max(name_cells, rows.back().name.cells);
  }
  for (size_t i = 0; i < rows.size(); ++i)
    out += option_line(rows[i], name_cells, answer.probabilities[i], i == answer.best, output);
  if (question.type != QuestionType::kScore) return;
  double mean = 0;
  for (size_t i = 0; i < rows.size(); ++i) mean += static_cast<double>(i) * answer.probabilities[i];
  out += fmt::format("    score {:.2f} of 0 to {}\n", mean, rows.size() - 1);
}

}  // namespace

std::string answer_table(const decision::Request& request, std::span<const Answer> answers,
                         const Output& output) {
  std::string out;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) out += '\n';
    append_question(out, request.questions[i], answers[i], output);
  }
  return out;
}

}  // namespace d3::cli
