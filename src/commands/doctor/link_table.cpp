#include "link_table.hpp"

#include <algorithm>

#include "rank_rows.hpp"
#include "rueda/display/number_text.hpp"

namespace rueda::doctor {
namespace {

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

std::string link_table(const std::vector<LinkFacts>& links) {
  return " memory to the right neighbour (medians; us: one way, GB/s: 1e9 bytes/s)\n" +
         (links.size() > kMostLinks ? table_of_extremes(links) : table_of_all(links));
}

}  // namespace rueda::doctor
