#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include "commands/doctor/report.hpp"
#include "tests/support/doctor_cluster.hpp"

using namespace rueda::doctor;
using Catch::Matchers::Contains;
using rueda::test::cpu_cluster;
using rueda::test::good_cluster;

namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

/// The lines below the titles of the table of ranks.
long ranks_lines(const ClusterFacts& cluster) {
  const std::string report = machine_report(cluster);
  const std::size_t begin = report.find("\nRanks"), end = report.find("\nGPUs");
  REQUIRE(end > begin);
  return std::count(report.begin() + static_cast<long>(begin),
                    report.begin() + static_cast<long>(end), '\n') -
         3;
}

}  // namespace

TEST_CASE("the report fits a page of 80 columns", "[doctor]") {
  auto cluster = good_cluster(2, 4);
  for (RankFacts& rank : cluster.ranks) {
    rank.host = "a-very-long-host-name-of-" + rank.host + ".cluster.example.org";
    rank.device.visible[0].name = "NVIDIA A100-SXM4-80GB with a long name";
  }
  CHECK(widest_line(machine_report(cluster)) <= 80);
}

TEST_CASE("the report names what a reader looks for", "[doctor]") {
  const std::string text = machine_report(good_cluster(2, 2));
  for (const char* part : {"srun, 4 processes (SLURM_NTASKS); MPI's world: 4 ranks on 2 hosts",
                           "0-7 of 16, bound", "8-15 of 16, bound", "GPU-node1-1", "80.0 GB",
                           "79.0 GB", "compiled yes, reported yes", "driver for CUDA up to 13.0"}) {
    CHECK_THAT(text, Contains(part));
  }
  CHECK_THAT(machine_report(cpu_cluster(1, 2)), Contains("none        no CUDA driver"));
}

TEST_CASE("many ranks that are alike share lines", "[doctor]") {
  CHECK(ranks_lines(cpu_cluster(1, 16)) == 16);
  auto cluster = cpu_cluster(1, 16);
  const auto more = cpu_cluster(1, 16);
  for (RankFacts rank : more.ranks) {
    rank.rank += 16;
    cluster.ranks.push_back(rank);
  }
  for (RankFacts& rank : cluster.ranks) rank.cores.allowed = {0, 1};
  CHECK_THAT(machine_report(cluster), Contains("0-31  node0"));
  CHECK(ranks_lines(cluster) == 1);
}

TEST_CASE("links of many ranks are summed up", "[doctor]") {
  auto cluster = cpu_cluster(2, 16);
  cluster.ranks[7].host_link = {9, 0.5};
  const std::string text = machine_report(cluster);
  CHECK_THAT(text, Contains("best    1.50   10.0") && Contains("median  1.50   10.0"));
  CHECK_THAT(text, Contains("worst   9.00  0.500") && Contains("rank 7"));
}

TEST_CASE("no control characters reach the page", "[doctor]") {
  auto cluster = cpu_cluster(1, 1);
  cluster.data = "data\x1b[31m\r";
  const std::string text = machine_report(cluster);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\r') == std::string::npos);
  CHECK_THAT(text, Contains("data?[31m?"));
}

TEST_CASE("the transfer's line says what was tried", "[doctor]") {
  auto alone = cpu_cluster(1, 1), broken = good_cluster(1, 2);
  alone.transfers.clear();
  broken.transfers[1].end = TransferFacts::End::crashed;
  for (const auto& [cluster, part] :
       {std::pair(good_cluster(1, 2), "GPU memory: every element arrived"),
        std::pair(cpu_cluster(1, 2), "host memory (GPU memory: no GPU"),
        std::pair(alone, "one rank has no neighbour"), std::pair(broken, "went wrong")}) {
    CHECK_THAT(outcome_report(cluster, {}), Contains(part));
  }
}

TEST_CASE("the outcome ends with the verdict, its changes in one line each", "[doctor]") {
  const Findings findings = {
      {Severity::fault, std::string(100, 'w') + " end", "change " + std::string(100, 'c')}};
  const std::string text = outcome_report(good_cluster(1, 2), findings);
  CHECK_THAT(text, Contains("  change   change " + std::string(100, 'c') + "\n"));
  CHECK_THAT(text, Catch::EndsWith("\nVerdict: will not work\n"));
  CHECK_THAT(outcome_report(good_cluster(1, 2), {}), Catch::EndsWith("Verdict: ok\n"));
  CHECK_THAT(outcome_report(good_cluster(1, 2), {}), Contains("GPU memory to the right neighbour"));
}

TEST_CASE("facts survive the way through JSON", "[doctor]") {
  auto cluster = good_cluster(1, 2);
  const nlohmann::json before = cluster.ranks[1];
  CHECK(nlohmann::json(before.get<RankFacts>()) == before);
  CHECK(before.get<RankFacts>().device.taken()->uuid == "GPU-node0-1");
  cluster.ranks[1].data.failure = "bytes \xff that are no text";
  CHECK_THAT(line_of(cluster.ranks[1]), Contains("that are no text"));
  const auto report = nlohmann::json::parse(report_json(cluster, all_findings(cluster)));
  CHECK(report.at("verdict") == "ok");
  CHECK(report.at("transfers").at(1).at("end") == "arrived");
  CHECK(report.at("ranks").at(0).at("device").at("free_bytes") == 79'000'000'000);
}
