#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "launch/control_group.hpp"

namespace rueda {

using Texts = std::vector<std::string>;

/// Numbers as tables show them: never rounded to whole seconds, at least three
/// digits that count. NaN and infinity are "nan" and "inf".

/// 6.412, 0.321, 0.0214, 0.00123: three decimals, more below 0.1 so that three digits remain.
std::string seconds_text(double seconds);
/// 798, 45.2, 3.21: no decimals from 100 on.
std::string rate_text(double per_second);
/// 1.2345; 2.1000e-04 below 0.001, as Keras prints metrics.
std::string metric_text(double value);
/// 1.09 MB, 44.7 MB, 2.30 GB: decimal units.
std::string bytes_text(double bytes);
inline std::string bytes_text(std::size_t bytes) { return bytes_text(double(bytes)); }
/// 0.2, 0.1, 1e-04: the shortest text that reads back as the same number.
std::string setting_text(double value);
/// Adds `word` to a list in a text, with `separator` before all words but the first.
void add_to_list(std::string& list, const std::string& word, const char* separator = ", ");
/// "0-3,8": ascending numbers with neighbours joined.
std::string ranges_text(const std::vector<int>& numbers);

/// A host's name in at most `width` characters by both of its ends: some names
/// end with a number, others begin with it.
std::string short_host(const std::string& name, std::size_t width);

/// "700 MB of memory (FILE), time of 1.5 cores (FILE), 4 of 64 processors
/// (FILE)": what control groups, and for memory the process's own limits, limit
/// on a host with `online` processors. Empty
/// where they limit nothing.
std::string limits_text(const GroupLimits& limits, int online);

/// 0:05, 1:02:05: hours, minutes and seconds, rounded up.
std::string clock_text(double seconds);

/// How many columns a terminal takes for a text in UTF-8: two for a Chinese
/// character, none for an accent that follows its letter.
std::size_t columns_of(std::string_view text);

/// The width for which tables and blocks are laid out, in characters.
inline constexpr std::size_t kPageColumns = 80;

enum class Align { left, right };

/// Rows of cells in columns as wide as their widest cell, two blanks apart. The
/// last column may be shortened (with "...") to keep a row within the page.
class TextTable {
 public:
  TextTable(std::vector<Align> columns, std::size_t indent);

  /// One cell per column, else std::invalid_argument. Each appears in one line.
  void add(Texts cells);
  /// Every row with its line end, without trailing blanks.
  std::string text() const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Align> columns_;
  std::size_t indent_;
  std::vector<Texts> rows_;
};

/// Of columns with a name, then numbers; the first row has the headings.
TextTable number_table(Texts headings);

/// `text` in lines of at most `columns`, broken at blanks. Each line begins
/// with `indent` blanks, the first one with `label` instead (padded to
/// `indent`). Ends with a line end.
std::string paragraph(const std::string& label, std::size_t indent, const std::string& text,
                      std::size_t columns = kPageColumns);

}  // namespace rueda
