#include "rueda/display/text_table.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace rueda {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastLastColumn = 12;

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::string blanks(width > cell.size() ? width - cell.size() : 0, ' ');
  return align == Align::left ? cell + blanks : blanks + cell;
}

std::string shortened(const std::string& cell, std::size_t width) {
  return cell.size() <= width ? cell : cell.substr(0, width - 3) + "...";
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

TextTable::TextTable(std::vector<Align> columns, std::size_t indent)
    : columns_(std::move(columns)), indent_(indent) {}

void TextTable::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw std::invalid_argument("TextTable: wrong cell count");
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::size_t before = indent_;
  for (std::size_t c = 0; c + 1 < widths.size(); ++c) before += widths[c] + kGap;
  const std::size_t room = kPageColumns > before ? kPageColumns - before : 0;
  widths.back() = std::min(widths.back(), std::max(room, kLeastLastColumn));
  return widths;
}

std::string TextTable::text() const {
  const std::vector<std::size_t> width = widths();
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent_, ' ');
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line.append(kGap, ' ');
      line += padded(shortened(row[c], width[c]), width[c], columns_[c]);
    }
    text += without_trailing_blanks(line) + "\n";
  }
  return text;
}

std::string paragraph(const std::string& label, std::size_t indent, const std::string& text) {
  std::string result;
  std::string line = padded(label, indent, Align::left);
  bool fresh = true;
  std::istringstream words(text);
  for (std::string word; words >> word; fresh = false) {
    if (!fresh && line.size() + 1 + word.size() > kPageColumns) {
      result += line + "\n";
      line.assign(indent, ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + word;
  }
  return result + without_trailing_blanks(line) + "\n";
}

}  // namespace rueda
