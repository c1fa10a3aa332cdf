#include <algorithm>
#include <chrono>
#include <map>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "commands/doctor/facts.hpp"
#include "commands/doctor/process.hpp"
#include "launch/machine.hpp"
#include "tests/support/common.hpp"
#include "tests/support/doctor_cluster.hpp"
#include "tests/support/has_avx512.hpp"

using namespace rueda::doctor;
using namespace rueda::test;
using Catch::Contains;
using rueda::json_of;

namespace {

/// The lines below the titles of the table of ranks.
long ranks_lines(const ClusterFacts& cluster) {
  const std::string report = machine_report(cluster);
  const std::size_t begin = report.find("\nRanks"), end = report.find("\nCores");
  REQUIRE(end > begin);
  return std::count(report.begin() + long(begin), report.begin() + long(end), '\n') - 3;
}

}  // namespace

TEST_CASE("the launcher is known by its variables", "[doctor]") {
  const auto facts = [](const std::map<std::string, std::string>& variables) {
    return json_of(read_launch(environment(variables)));
  };
  CHECK(facts({{"SLURM_JOB_ID", "7"},
               {"SLURM_NTASKS", "8"},
               {"SLURM_STEP_NUM_TASKS", "6"},
               {"SLURM_PROCID", "3"},
               {"SLURM_JOB_NUM_NODES", "2"},
               {"SLURM_CPUS_PER_TASK", "4"},
               {"SLURM_JOB_GPUS", "0,1"}}) ==
        json_of(LaunchFacts{"srun", 6, "SLURM_STEP_NUM_TASKS", "", true, 8, 2, 4,
                            "SLURM_JOB_GPUS=0,1"}));
  CHECK(facts({}).at("launcher") == "none");
  CHECK(facts({{"SLURM_NTASKS", "8"}}).at("launcher") == "none");  // salloc's shell
  const auto script = facts({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}});
  CHECK(script.at("launcher") == "none");
  const auto mpirun = facts({{"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_RANK", "0"},
                             {"SLURM_NTASKS", "8"},
                             {"SLURM_PROCID", "0"}});
  CHECK(mpirun.at("launcher") == "mpirun");  // inside an allocation
  CHECK(mpirun.at("told_size") == 2);
}

TEST_CASE("a picture shows the ranks of each core, equal hosts once", "[doctor]") {
  ClusterFacts cluster = cpu_cluster(3, 2);
  for (RankFacts& rank : cluster.ranks) {
    rank.cores.cores = {{0, 1}, {2, 3}, {4}, {5}, {6}, {7}, {8}, {9}, {16, 17}};
    rank.cores.allowed = {2 * rank.local_rank, 16};
  }
  cluster.ranks[5].cores.allowed = {3};
  const std::string report = machine_report(cluster);
  CHECK_THAT(report, Contains("  node0 +1    01...... *\n"));
  CHECK_THAT(report, Contains("  node2       01...... 0\n"));
}

TEST_CASE("one process learns how many ranks mpirun would start", "[doctor]") {
  ClusterFacts alone = cpu_cluster(1, 1);
  CHECK_THAT(machine_report(alone), !Contains("slots"));  // below srun
  LaunchFacts& launch = alone.ranks[0].launch;
  launch = {};
  CHECK_THAT(machine_report(alone), Contains("slots       mpirun starts up to 16 ranks here"));
  launch.settings = {kOversubscribe};
  CHECK_THAT(machine_report(alone), !Contains("slots"));
}

TEST_CASE("settings in files are listed by file", "[doctor]") {
  ClusterFacts alone = cpu_cluster(1, 1);
  alone.ranks[0].launch.file_settings = {{"OMPI_MCA_pml", "ob1", "/home/a/.openmpi/p", 2},
                                         {"OMPI_MCA_btl", "self,tcp", "/home/a/.openmpi/p", 3},
                                         {"UCX_TLS", "tcp\x1b[2J", "/etc/ucx/ucx.conf", 1}};
  const std::string report = machine_report(alone);
  CHECK_THAT(report, Contains("in a file   /home/a/.openmpi/p: pml=ob1 (line 2), btl=self,tcp"));
  CHECK_THAT(report, Contains("in a file   /etc/ucx/ucx.conf: UCX_TLS=tcp\\x1b[2J (line 1)"));
  CHECK(longest_line(report) <= 80);
}

TEST_CASE("what a start of Open MPI needs is looked for", "[doctor]") {
  const ScratchDirectory folder;
  const auto found = [](std::map<std::string, std::string> variables) {
    std::string all;
    for (const auto& [what, change] : obstacles_to_start(environment(std::move(variables))))
      all += what + "; " + change + "\n";
    return all;
  };
  const std::string here = folder.path(), gone = here + "/gone";
  CHECK(found({{"HOME", here}, {"PATH", "/bin"}, {"TMPDIR", here}}).empty());
  CHECK(found({{"HOME", here}, {"PATH", "/bin"}, {"TMPDIR", here}, {"TMP", gone}}).empty());
  CHECK_THAT(found({{"PATH", "/bin"}, {"TMP", here}}), Contains("HOME is not set; export HOME="));
  CHECK_THAT(found({{"HOME", here}, {"TMP", here}}), Contains("PATH is not set; export PATH="));
  CHECK(found({{"HOME", here}, {"PATH", "/bin"}, {"TMPDIR", gone}}) ==
        "temporary files cannot be made in " + gone +
            ": No such file or directory; export TMPDIR=FOLDER  of the host's own disk, with "
            "room\n");
}

TEST_CASE("training's own check of the launch decides", "[doctor]") {
  const auto slurm = environment({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}});
  LaunchFacts launch = read_launch(slurm);
  judge_launch(launch, slurm, 4);
  CHECK(launch.refusal.empty());
  judge_launch(launch, slurm, 1);
  CHECK_THAT(launch.refusal, Contains("SLURM_STEP_NUM_TASKS=4"));
}

TEST_CASE("cores of a host are divided among its ranks", "[doctor]") {
  auto cluster = cpu_cluster(2, 2);
  for (RankFacts& rank : cluster.ranks) rank.cores.allowed = {0, 1, 2, 3};
  cluster.ranks[3].cores.allowed = {4, 5, 6};
  share_out_cores(cluster.ranks);
  CHECK(cluster.ranks[0].cores.threads == 2);
  CHECK(cluster.ranks[2].cores.threads == 4);
  CHECK(cluster.ranks[3].cores.threads == 3);
}

TEST_CASE("memory is that of the rank that has the least", "[doctor]") {
  auto cluster = cpu_cluster(2, 2);
  cluster.ranks[1].host_memory_bytes = 40'000;
  CHECK(memory_per_rank(cluster.ranks) == 19'000);  // half of it, less a twentieth
  cluster.ranks[1].process_memory_bytes = 19'000;   // not shared
  CHECK(memory_per_rank(cluster.ranks) == 18'050);
  cluster = good_cluster(1, 2);
  CHECK(memory_per_rank(cluster.ranks) == 75'050'000'000);
  for (RankFacts& rank : cluster.ranks) rank.device.takes = 0;  // both on one
  CHECK(memory_per_rank(cluster.ranks) == 37'525'000'000);
}

TEST_CASE("every model gets its largest batch in both precisions", "[doctor][cpu]") {
  const auto batches =
      largest_batches(rueda::BackendChoice::cpu, 200'000'000, 1, 1, std::chrono::hours(1));
  REQUIRE(batches.size() == 18);
  CHECK(batches[0].model == "resnet20");
  CHECK(batches[0].image_size == 32);
  CHECK(batches[0].largest_batch > 10);
  CHECK(batches[1].precision == "bf16");
  CHECK(batches[17].model == "resnet152v2");
  CHECK(batches[17].image_size == 128);
  CHECK(batches[16].largest_batch == 0);  // its parameters alone are more
}

TEST_CASE("batches are planned for a limited time", "[doctor][cpu][bf16-or-not]") {
  const auto batches =
      largest_batches(rueda::BackendChoice::cpu, 200'000'000, 1, 1, std::chrono::seconds(0));
  REQUIRE(batches.size() == 18);
  for (const auto& batch : batches) {
    CHECK(batch.largest_batch == 0);
    const bool computable = batch.precision == "fp32" || has_avx512();
    CHECK_THAT(batch.failure, Contains(computable ? "for 0 s at most; rueda summary"
                                                  : "only on processors with AVX-512"));
  }
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
  const ScratchDirectory folder;
  const std::string gone = folder.write("file", "") / "none";  // not even root can make it
  for (const Mailbox& none : {Mailbox(gone), Mailbox()}) {
    CHECK_FALSE(none.reachable());
    CHECK_FALSE(none.put({}));
    CHECK_FALSE(none.get(0).has_value());
    CHECK_FALSE(none.is_asked_to_stop());
  }
  CHECK(Mailbox::make(gone, 1).empty());
}

TEST_CASE("the doctor's options are checked", "[doctor]") {
  rueda::DoctorOptions options;
  validate(options);
  options.timeout = 0;
  CHECK_THROWS_WITH(validate(options), Contains("--timeout"));
}

TEST_CASE("a fault that tests ask for is a kind and a rank", "[doctor]") {
  const auto asked = [](const char* text) {
    return asked_fault([text](const char*) { return text; });
  };
  CHECK(asked("crash-transfer:2").kind == "crash-transfer");
  CHECK(asked("crash-transfer:2").rank == 2);
  CHECK(asked("").kind.empty());
  CHECK(asked_fault([](const char*) { return nullptr; }).kind.empty());
  for (const char* bad :
       {"crash-transfer", "crash-transfer:", "crash-transfer:-1", "no:1", "crash-start:1x"})
    CHECK_THROWS_WITH(asked(bad), Contains("RUEDA_DOCTOR_FAULT='" + std::string(bad) + "'"));
}

TEST_CASE("the report fits a page of 80 columns and names what a reader looks for", "[doctor]") {
  auto cluster = good_cluster(2, 4);
  for (RankFacts& rank : cluster.ranks) {
    rank.host = "a-very-long-host-name-of-" + rank.host + ".cluster.example.org";
    rank.device.visible[0].name = "NVIDIA A100-SXM4-80GB with a long name";
  }
  CHECK(longest_line(machine_report(cluster)) <= 80);
  const std::string text = machine_report(good_cluster(2, 2));
  for (const char* part : {"srun, 4 processes (SLURM_STEP_NUM_TASKS); MPI's world: 4 ranks on\n",
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
  CHECK_THAT(rueda::harmless(machine_report(cluster)), Contains("data\\x1b[31m\\x0d"));
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
  const std::string before = rueda::text_of(json_of(cluster.ranks[1]));
  const auto back = rueda::from_text<RankFacts>(before);
  CHECK(rueda::text_of(json_of(back)) == before);
  CHECK(back.device.taken()->uuid == "GPU-node0-1");
  cluster.ranks[1].data.failure = "bytes \xff that are no text";
  CHECK_THAT(rueda::text_of(json_of(cluster.ranks[1])), Contains("that are no text"));
  const auto report = nlohmann::json::parse(report_json(cluster, all_findings(cluster)));
  CHECK(report.at("verdict") == "ok");
  CHECK(report.at("transfers").at(1).at("end") == "arrived");
  CHECK(report.at("ranks").at(0).at("device").at("free_bytes") == 79'000'000'000);
}
