#include <cstring>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "cpu/cpu_backend.hpp"
#include "model/registry.hpp"
#include "mpi/session/communicator.hpp"
#include "tests/support/mpi_check.hpp"
#include "train/checks/step_checks.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

/// The same small replica on every rank.
struct Bench {
  Bench() : replica(graph, *backend, {2}, {}) { replica.initialise(7); }

  /// Flips the lowest bit of an element of a parameter.
  void flip(ParameterId parameter, std::size_t element) {
    float& value = replica.parameter(parameter)[element];
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    bits ^= 1U;
    std::memcpy(&value, &bits, sizeof bits);
  }

  Communicator world;
  Graph graph = build_model("resnet20", 8, 10);
  std::unique_ptr<Backend> backend = cpu::make_cpu_backend({});
  Replica replica;
};

}  // namespace

TEST_CASE("Equal replicas agree on one hash", "[replica_check]") {
  Bench bench;
  ReplicaCheck check(bench.world, bench.replica, CheckReplicas::step);
  const std::string mine = check.compare("at the start");
  const auto all = all_gather_text(bench.world, mine);
  for (const std::string& hash : all) CHECK(hash == mine);
  CHECK(mine.size() == 16);
}

TEST_CASE("A flipped bit is found with tensor and element", "[replica_check]") {
  Bench bench;
  ReplicaCheck check(bench.world, bench.replica, CheckReplicas::step);
  const int last = bench.world.size() - 1;
  if (bench.world.rank() == last) bench.flip(4, 11);
  const std::string message = message_of<RunError>([&] { check.compare("after step 3"); });
  if (last == 0) {
    CHECK(message.empty());
    return;
  }
  CHECK_ON_ALL_RANKS(contains(message, "after step 3"));
  CHECK_ON_ALL_RANKS(contains(message, bench.graph.parameter(4).name));
  CHECK_ON_ALL_RANKS(contains(message, "element 11"));
  const std::string culprit = "rank " + std::to_string(last) + " differs from the majority";
  CHECK_ON_ALL_RANKS(contains(message, last >= 2 ? culprit : "ranks 0 and 1 may be wrong"));
}

TEST_CASE("A copy that changed between two checks gives its rank away", "[replica_check]") {
  Bench bench;
  if (bench.world.size() == 1) return;
  ReplicaCheck check(bench.world, bench.replica, CheckReplicas::step);
  check.compare("after step 1");
  if (bench.world.rank() == 1) bench.flip(0, 0);
  check.before_update();
  for (float& value : bench.replica.parameters()) value = value * 0.5F;  // the update
  const std::string message = message_of<RunError>([&] { check.compare("after step 2"); });
  CHECK_ON_ALL_RANKS(contains(message, "rank 1 differs from its own hash before the update"));
}

TEST_CASE("Running statistics are watched too", "[replica_check]") {
  Bench bench;
  if (bench.world.size() == 1) return;
  ReplicaCheck check(bench.world, bench.replica, CheckReplicas::step);
  if (bench.world.rank() == 0) bench.replica.running_statistics()[3] += 1.0F;
  const std::string message = message_of<RunError>([&] { check.compare("now"); });
  CHECK_ON_ALL_RANKS(contains(message, "running statistics, element 3"));
}

TEST_CASE("The hash depends on the place of a value", "[replica_check]") {
  Bench bench;
  const auto before = combined_hash(hash_replica(bench.replica));
  std::swap(bench.replica.parameters()[0], bench.replica.parameters()[1]);
  CHECK(combined_hash(hash_replica(bench.replica)) != before);
}
