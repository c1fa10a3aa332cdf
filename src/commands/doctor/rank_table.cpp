#include "rank_table.hpp"

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

constexpr std::size_t kMostLinks = 16;

std::vector<std::string> figures(double latency_us, double gb_per_second) {
  return {rate_text(latency_us), rate_text(gb_per_second)};
}

std::string table_of_all(const std::vector<LinkFacts>& links) {
  std::vector<RankRow> rows;
  for (std::size_t rank = 0; rank < links.size(); ++rank) {
    std::vector<std::string> cells = figures(links[rank].latency_us, links[rank].gb_per_second);
    cells.insert(cells.begin(), std::to_string((rank + 1) % links.size()));
    rows.push_back({static_cast<int>(rank), std::move(cells)});
  }
  return rank_table({"to", "us", "GB/s"}, {Align::right, Align::right, Align::right}, rows);
}

std::string table_of_extremes(const std::vector<LinkFacts>& links) {
  std::vector<double> latencies, speeds;
  for (const LinkFacts& link : links) {
    latencies.push_back(link.latency_us);
    speeds.push_back(link.gb_per_second);
  }
  const auto slowest = std::min_element(speeds.begin(), speeds.end()) - speeds.begin();
  std::sort(latencies.begin(), latencies.end());
  std::sort(speeds.begin(), speeds.end(), std::greater<>());
  TextTable table({Align::left, Align::right, Align::right, Align::left}, 2);
  table.add({"", "us", "GB/s", ""});
  const auto add = [&](const char* name, std::size_t i, const std::string& remark) {
    table.add({name, rate_text(latencies[i]), rate_text(speeds[i]), remark});
  };
  add("best", 0, "");
  add("median", links.size() / 2, "");
  add("worst", links.size() - 1,
      "the lowest GB/s is that of rank " + std::to_string(slowest) + " to the next");
  return table.text();
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

std::string link_table(const std::vector<LinkFacts>& links) {
  return " memory to the right neighbour (medians; us: one way, GB/s: 1e9 bytes/s)\n" +
         (links.size() > kMostLinks ? table_of_extremes(links) : table_of_all(links));
}

}  // namespace rueda::doctor
