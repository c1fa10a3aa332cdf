#include "rank_rows.hpp"

#include <algorithm>
#include <utility>

#include "rueda/display/number_text.hpp"

namespace rueda::doctor {
namespace {

constexpr std::size_t kWidestHost = 20;

struct Line {
  std::vector<int> ranks;
  std::vector<std::string> cells;
};

std::vector<Line> lines_of(const std::vector<RankRow>& rows) {
  std::vector<Line> lines;
  for (const RankRow& row : rows) {
    const auto alike = [&](const Line& line) { return line.cells == row.cells; };
    auto at =
        rows.size() > kMostLines ? std::find_if(lines.begin(), lines.end(), alike) : lines.end();
    if (at == lines.end()) at = lines.insert(at, Line{{}, row.cells});
    at->ranks.push_back(row.rank);
  }
  return lines;
}

}  // namespace

std::string short_host(const std::string& name) {
  if (name.size() <= kWidestHost) return name;
  constexpr std::size_t kEnd = (kWidestHost - 2) / 2;
  return name.substr(0, kEnd) + ".." + name.substr(name.size() - kEnd);
}

std::string rank_table(std::vector<std::string> head, std::vector<Align> align,
                       const std::vector<RankRow>& rows) {
  align.insert(align.begin(), Align::right);
  head.insert(head.begin(), "rank");
  TextTable table(align, 2);
  table.add(std::move(head));
  const std::vector<Line> lines = lines_of(rows);
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    std::vector<std::string> cells = lines[i].cells;
    cells.insert(cells.begin(), ranges_text(lines[i].ranks));
    table.add(std::move(cells));
  }
  if (lines.size() <= kMostLines) return table.text();
  return table.text() + "  and " + counted(lines.size() - kMostLines, "more line") +
         "; --json FILE holds all\n";
}

}  // namespace rueda::doctor
