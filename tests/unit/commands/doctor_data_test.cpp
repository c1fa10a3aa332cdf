#include <catch2/catch.hpp>

#include "commands/doctor/findings.hpp"
#include "tests/support/doctor_cluster.hpp"

using namespace rueda::doctor;
using Catch::Matchers::Contains;

namespace {

ClusterFacts cluster_with_data() {
  ClusterFacts cluster = rueda::test::cpu_cluster(3, 1);
  cluster.data = "cifar";
  for (RankFacts& rank : cluster.ranks) {
    rank.data.fingerprint = "1-2";
    rank.data.train_per_class.fill(5000);
    rank.data.test_per_class.fill(1000);
    rank.data.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                             "dog",      "frog",       "horse", "ship", "truck"};
  }
  return cluster;
}

}  // namespace

TEST_CASE("the official set gives no finding", "[doctor]") {
  CHECK(all_findings(cluster_with_data()).empty());
}

TEST_CASE("data that some ranks cannot read is a fault that names them", "[doctor]") {
  auto cluster = cluster_with_data();
  cluster.ranks[1].data = {};
  cluster.ranks[1].data.failure = "nothing is there";
  const Findings findings = all_findings(cluster);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::fault);
  CHECK_THAT(findings[0].what, Contains("--data cifar: rank 1 cannot read it: nothing is there"));
}

TEST_CASE("ranks that read different images are a fault", "[doctor]") {
  auto cluster = cluster_with_data();
  cluster.ranks[2].data.fingerprint = "1-3";
  const Findings findings = all_findings(cluster);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::fault);
  CHECK_THAT(findings[0].what, Contains("ranks 0-1 / rank 2"));
}

TEST_CASE("a set of the official size with uneven classes is a fault", "[doctor]") {
  auto cluster = cluster_with_data();
  for (RankFacts& rank : cluster.ranks) {
    rank.data.train_per_class[3] = 4999;
    rank.data.train_per_class[5] = 5001;
  }
  const Findings findings = all_findings(cluster);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::fault);
  CHECK_THAT(findings[0].what,
             Contains("training set has 4999 images of class cat and 5001 of dog") &&
                 Contains("5000 of each"));
}

TEST_CASE("a small set may be uneven, but lacks no class unremarked", "[doctor]") {
  auto cluster = cluster_with_data();
  for (RankFacts& rank : cluster.ranks) rank.data.test_per_class = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  CHECK(all_findings(cluster).empty());
  for (RankFacts& rank : cluster.ranks) rank.data.test_per_class[9] = 0;
  const Findings findings = all_findings(cluster);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::remark);
  CHECK_THAT(findings[0].what, Contains("test set has 0 images of class truck"));
}

TEST_CASE("the reader's remarks are passed on once", "[doctor]") {
  auto cluster = cluster_with_data();
  for (RankFacts& rank : cluster.ranks) rank.data.remarks = {"small"};
  const Findings findings = all_findings(cluster);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == "data: small");
}
