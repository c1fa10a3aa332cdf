#include <map>

#include <catch2/catch.hpp>

#include "commands/doctor/doctor.hpp"
#include "commands/doctor/machine.hpp"
#include "commands/doctor/process.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/machine.hpp"
#include "tests/support/doctor_cluster.hpp"

using namespace rueda::doctor;
using Catch::Matchers::Contains;

namespace {

rueda::Environment environment(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

}  // namespace

TEST_CASE("the launcher is known by its variables", "[doctor]") {
  const auto facts = [](const std::map<std::string, std::string>& variables) {
    return nlohmann::json(read_launch(environment(variables)));
  };
  CHECK(facts({{"SLURM_JOB_ID", "7"},
               {"SLURM_NTASKS", "8"},
               {"SLURM_PROCID", "3"},
               {"SLURM_JOB_NUM_NODES", "2"},
               {"SLURM_CPUS_PER_TASK", "4"},
               {"SLURM_JOB_GPUS", "0,1"}}) ==
        nlohmann::json(
            LaunchFacts{"srun", 8, "SLURM_NTASKS", "", true, 8, 2, 4, "SLURM_JOB_GPUS=0,1"}));
  CHECK(facts({}).at("launcher") == "none");
  CHECK(facts({{"SLURM_NTASKS", "8"}}).at("launcher") == "none");  // salloc's shell
  const auto mpirun = facts({{"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_RANK", "0"},
                             {"SLURM_NTASKS", "8"},
                             {"SLURM_PROCID", "0"}});
  CHECK(mpirun.at("launcher") == "mpirun");  // inside an allocation
  CHECK(mpirun.at("told_size") == 2);
}

TEST_CASE("training's own check of the launch decides", "[doctor]") {
  const auto slurm = environment({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}});
  LaunchFacts launch = read_launch(slurm);
  judge_launch(launch, slurm, 4);
  CHECK(launch.refusal.empty());
  judge_launch(launch, slurm, 1);
  CHECK_THAT(launch.refusal, Contains("SLURM_NTASKS=4"));
}

TEST_CASE("cores of a host are divided among its ranks", "[doctor]") {
  auto cluster = rueda::test::cpu_cluster(2, 2);
  for (RankFacts& rank : cluster.ranks) rank.cores.allowed = {0, 1, 2, 3};
  cluster.ranks[3].cores.allowed = {4, 5, 6};
  share_out_cores(cluster.ranks);
  CHECK(cluster.ranks[0].cores.threads == 2);
  CHECK(cluster.ranks[2].cores.threads == 4);
  CHECK(cluster.ranks[3].cores.threads == 3);
}

TEST_CASE("memory is that of the rank that has the least", "[doctor]") {
  auto cluster = rueda::test::cpu_cluster(2, 2);
  cluster.ranks[1].host_memory_bytes = 40'000;
  CHECK(memory_per_rank(cluster.ranks) == 19'000);  // half of it, less a twentieth
  cluster = rueda::test::good_cluster(1, 2);
  CHECK(memory_per_rank(cluster.ranks) == 75'050'000'000);
  for (RankFacts& rank : cluster.ranks) rank.device.takes = 0;  // both on one
  CHECK(memory_per_rank(cluster.ranks) == 37'525'000'000);
}

TEST_CASE("every model gets its largest batch in both precisions", "[doctor]") {
  const auto batches = largest_batches(rueda::BackendChoice::cpu, 200'000'000, 1, 1);
  REQUIRE(batches.size() == 18);
  CHECK(batches[0].model == "resnet20");
  CHECK(batches[0].image_size == 32);
  CHECK(batches[0].largest_batch > 10);
  CHECK(batches[1].precision == "bf16");
  CHECK(batches[17].model == "resnet152v2");
  CHECK(batches[17].image_size == 128);
  CHECK(batches[16].largest_batch == 0);  // its parameters alone are more
}

TEST_CASE("the machine has memory", "[doctor]") { CHECK(rueda::available_host_memory() > 0); }

TEST_CASE("supervisors exchange how it ended through files", "[doctor]") {
  const std::string folder = Mailbox::make(std::filesystem::temp_directory_path(), 2);
  REQUIRE_FALSE(folder.empty());
  const Mailbox zero(folder, 0), one(folder, 1);
  CHECK(one.reachable());
  CHECK_FALSE(Mailbox(folder, 2).reachable());
  CHECK_FALSE(zero.get(1).has_value());
  CHECK_FALSE(zero.is_asked_to_stop());
  CHECK(one.put({TransferFacts::End::crashed, false, "signal 11", {}}));
  one.ask_to_stop();
  CHECK(zero.is_asked_to_stop());
  REQUIRE(zero.get(1).has_value());
  CHECK(zero.get(1)->end == TransferFacts::End::crashed);
  CHECK(zero.get(1)->detail == "signal 11");
  CHECK_FALSE(zero.get(0).has_value());
  zero.remove();
  CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("a mailbox that is not there is none", "[doctor]") {
  for (const Mailbox& none : {Mailbox("/nonexistent"), Mailbox()}) {
    CHECK_FALSE(none.reachable());
    CHECK_FALSE(none.put({}));
    CHECK_FALSE(none.get(0).has_value());
    CHECK_FALSE(none.is_asked_to_stop());
  }
  CHECK(Mailbox::make("/nonexistent", 1).empty());
}

TEST_CASE("the doctor's options are checked", "[doctor]") {
  rueda::DoctorOptions options;
  options.fault = "crash-transfer:2";
  validate(options);
  CHECK(options.injected.kind == rueda::DoctorFault::Kind::crash_transfer);
  CHECK(options.injected.rank == 2);
  for (const char* bad : {"crash-transfer", "crash-transfer:", "crash-transfer:-1", "no:1"}) {
    options.fault = bad;
    CHECK_THROWS_AS(validate(options), rueda::InputError);
  }
  options.fault.clear();
  options.timeout = 0;
  CHECK_THROWS_WITH(validate(options), Contains("--timeout"));
}
