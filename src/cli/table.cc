#include "cli/table.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/terminal.h"
#include "decision/answer.h"

namespace d3::cli {
namespace {

using decision::Answer;
using decision::Question;
using decision::QuestionType;

constexpr int kMostNameCells = 32;
constexpr int kNumberCells = 8;  // " 100.0 %"

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
    const Fitted drawn = bar(share, output.unicode);
    line += ' ' + paint(chosen ? "32" : "2", drawn.text, output) +
            std::string(static_cast<size_t>(kBarCells - drawn.cells), ' ');
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
  out += fmt::format("    score {:.2f} of 0 to {}\n", decision::expected_level(answer), rows.size() - 1);
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
