#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rueda {

/// The width for which tables and blocks are laid out, in characters.
inline constexpr std::size_t kPageColumns = 80;

enum class Align { left, right };

/// Rows of cells in columns as wide as their widest cell, two blanks apart. The last column may be
/// shortened (with "...") to keep a row within the page.
class TextTable {
 public:
  TextTable(std::vector<Align> columns, std::size_t indent);

  /// One cell per column, else std::invalid_argument.
  void add(std::vector<std::string> cells);
  /// Every row with its line end, without trailing blanks.
  std::string text() const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Align> columns_;
  std::size_t indent_;
  std::vector<std::vector<std::string>> rows_;
};

/// `text` in lines of at most kPageColumns, broken at blanks. Each line begins with `indent`
/// blanks, the first one with `label` instead (padded to `indent`). Ends with a line end.
std::string paragraph(const std::string& label, std::size_t indent, const std::string& text);

}  // namespace rueda
