#include <catch2/catch.hpp>

#include "commands/doctor/findings.hpp"
#include "tests/support/doctor_cluster.hpp"

using namespace rueda::doctor;
using Catch::Matchers::Contains;
using rueda::test::cpu_cluster;
using rueda::test::good_cluster;
using End = TransferFacts::End;

namespace {

/// The only finding; a dummy one that fails every test if there is another number of them.
Finding only(const ClusterFacts& cluster) {
  const Findings findings = all_findings(cluster);
  for (const Finding& finding : findings) UNSCOPED_INFO(finding.what);
  CHECK(findings.size() == 1);
  return findings.size() == 1 ? findings.front() : Finding{Severity::remark, "none", "none"};
}

void check_fault(const ClusterFacts& cluster, const std::string& what, const std::string& change) {
  const Finding finding = only(cluster);
  CHECK(finding.severity == Severity::fault);
  CHECK_THAT(finding.what, Contains(what));
  CHECK_THAT(finding.change, Contains(change));
  CHECK(verdict(all_findings(cluster)) == "will not work");
}

void check_remark(const ClusterFacts& cluster, const std::string& what, const std::string& change) {
  const Finding finding = only(cluster);
  CHECK(finding.severity == Severity::remark);
  CHECK_THAT(finding.what, Contains(what));
  CHECK_THAT(finding.change, Contains(change));
  CHECK(verdict(all_findings(cluster)) == "works with remarks");
}

void end_transfers(ClusterFacts& cluster, std::size_t rank, End end, const std::string& detail) {
  for (TransferFacts& transfer : cluster.transfers) transfer.end = End::waited;
  cluster.transfers.at(rank).end = end;
  cluster.transfers.at(rank).detail = detail;
}

}  // namespace

TEST_CASE("a cluster in order gives no finding", "[doctor]") {
  for (const auto& cluster : {good_cluster(1, 1), good_cluster(2, 4), cpu_cluster(2, 2)}) {
    CHECK(all_findings(cluster).empty());
    CHECK(verdict(all_findings(cluster)) == "ok");
    CHECK(works(all_findings(cluster)));
  }
}

TEST_CASE("singletons below Slurm are explained", "[doctor]") {
  auto cluster = cpu_cluster(1, 1);
  cluster.transfers.clear();
  cluster.ranks[0].launch = {"srun", 4, "SLURM_NTASKS", "refused", true, 4, 1, 16, ""};
  check_fault(cluster, "srun started 4 processes (SLURM_NTASKS=4), but MPI sees a world of 1",
              "srun --mpi=pmix -n 4");
}

TEST_CASE("singletons below a foreign mpirun are explained", "[doctor]") {
  auto cluster = cpu_cluster(1, 1);
  cluster.ranks[0].launch = {"mpirun", 2, "OMPI_COMM_WORLD_SIZE", "refused", false, 0, 0, 0, ""};
  check_fault(cluster, "OMPI_COMM_WORLD_SIZE=2", "mpirun -n 2");
}

TEST_CASE("an allocation that is not used is remarked", "[doctor]") {
  auto cluster = good_cluster(2, 4);
  for (RankFacts& rank : cluster.ranks) rank.launch.slurm_nodes = 3;
  check_remark(cluster, "the allocation has 3 nodes, but the ranks are on 2", "srun --nodes=3");
  for (RankFacts& rank : cluster.ranks) {
    rank.launch.slurm_nodes = 2;
    rank.launch.slurm_tasks = 16;
  }
  check_remark(cluster, "16 tasks (SLURM_NTASKS), but this run has 8", "srun -n 16");
}

TEST_CASE("different versions name component and ranks", "[doctor]") {
  auto cluster = good_cluster(2, 2);
  cluster.ranks[3].versions[1].second = "MPICH 4";
  const std::string what = only(cluster).what;
  CHECK_THAT(what, Contains("MPICH 4 on rank 3") && Contains("Open MPI 5 on ranks 0-2"));
  check_fault(cluster, "versions of MPI differ", "same program");
  cluster.ranks[3].versions.pop_back();
  check_fault(cluster, "not there on rank 3", "same program");
}

TEST_CASE("overlapping bindings are remarked", "[doctor]") {
  auto cluster = cpu_cluster(1, 2);
  cluster.ranks[1].cores.allowed = {7, 8, 9, 10, 11, 12, 13, 14};
  check_remark(cluster, "bindings of ranks on node0 overlap", "--cpus-per-task=8");
  for (RankFacts& rank : cluster.ranks) rank.launch.launcher = "mpirun";
  check_remark(cluster, "overlap", "mpirun --map-by slot:PE=8 --bind-to core");
}

TEST_CASE("ranks that share all cores do not overlap", "[doctor]") {
  auto cluster = cpu_cluster(1, 2);
  for (RankFacts& rank : cluster.ranks)
    rank.cores.allowed = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  CHECK(all_findings(cluster).empty());
}

TEST_CASE("cores left idle and cores that are too few are remarked", "[doctor]") {
  auto cluster = cpu_cluster(2, 2);
  for (RankFacts& rank : cluster.ranks) rank.cores.allowed = {rank.local_rank};
  check_remark(cluster, "2 ranks on node0 may use 2 of its 16 cores (and so on 1 other host)",
               "#SBATCH --cpus-per-task=8");
  for (RankFacts& rank : cluster.ranks) {
    rank.cores.allowed = {0};
    rank.cores.share = 0.5;
  }
  check_remark(cluster, "fewer than 2 whole cores (1 allowed)", "--cpus-per-task=8");
  for (RankFacts& rank : cluster.ranks) rank.cores.online = 1;
  check_remark(cluster, "fewer than 2 whole cores", "--ntasks-per-node");
}

TEST_CASE("a quota explains why cores are left", "[doctor]") {
  auto cluster = cpu_cluster(1, 2);
  for (RankFacts& rank : cluster.ranks) {
    rank.cores.allowed = {rank.local_rank};
    rank.cores.quota = 2;
  }
  CHECK(all_findings(cluster).empty());
}

TEST_CASE("no GPU is no fault on a cluster without", "[doctor]") {
  CHECK(all_findings(cpu_cluster(1, 2)).empty());
  auto cluster = cpu_cluster(1, 2);
  cluster.asked_backend = "cuda";
  check_fault(cluster, "all ranks without a GPU: no CUDA driver", "#SBATCH --gres=gpu:2");
}

TEST_CASE("a GPU that should be there is missed", "[doctor]") {
  auto cluster = cpu_cluster(1, 2);
  for (RankFacts& rank : cluster.ranks) rank.launch.slurm_gpus = "SLURM_JOB_GPUS=0,1";
  check_remark(cluster, "without a GPU", "--gres=gpu:2");
  for (RankFacts& rank : cluster.ranks) rank.device.built = false;
  check_remark(cluster, "without a GPU", "-Dcuda=enabled");
}

TEST_CASE("some ranks without a GPU are a fault", "[doctor]") {
  auto cluster = good_cluster(2, 2);
  cluster.ranks[3].device.visible.clear();
  cluster.ranks[3].device.takes = -1;
  cluster.ranks[3].device.reason = "CUDA_VISIBLE_DEVICES is empty";
  check_fault(cluster, "rank 3 without a GPU: CUDA_VISIBLE_DEVICES is empty", "--gres=gpu:2");
}

TEST_CASE("a GPU that does not answer is a fault", "[doctor]") {
  auto cluster = good_cluster(1, 2);
  cluster.ranks[1].device.failure = "cudaSetDevice: device busy";
  check_fault(cluster, "rank 1: the GPU is visible but cannot be used: cudaSetDevice",
              "nvidia-smi");
}

TEST_CASE("a backend that is not to be had although a GPU is there is a fault", "[doctor]") {
  auto cluster = good_cluster(1, 2);
  for (RankFacts& rank : cluster.ranks) rank.backend_failure = "--backend cuda: not in this one";
  check_fault(cluster, "all ranks: --backend cuda: not in this one", "--backend cpu");
}

TEST_CASE("a shared GPU is a fault unless it is meant", "[doctor]") {
  auto cluster = good_cluster(1, 2);
  for (RankFacts& rank : cluster.ranks) {
    rank.device.visible.resize(1);
    rank.device.takes = 0;
  }
  check_fault(cluster, "all ranks share one GPU (GPU-node0-0)", "--allow-shared-gpu");
  cluster.allow_shared_gpu = true;
  check_remark(cluster, "share one GPU", "--gres=gpu:N");
}

TEST_CASE("equal UUIDs on two hosts are two GPUs", "[doctor]") {
  auto cluster = good_cluster(2, 1);
  for (RankFacts& rank : cluster.ranks) rank.device.visible[0].uuid = "GPU-same";
  CHECK(all_findings(cluster).empty());
}

TEST_CASE("one GPU per task hides the peers", "[doctor]") {
  auto cluster = good_cluster(1, 4);
  for (RankFacts& rank : cluster.ranks) {
    const GpuFacts own = *rank.device.taken();
    rank.device.visible = {own};
    rank.device.takes = 0;
  }
  check_remark(cluster, "each rank on node0 sees its own GPU only", "#SBATCH --gres=gpu:4");
}

TEST_CASE("idle GPUs are remarked", "[doctor]") {
  auto cluster = good_cluster(1, 2);
  for (RankFacts& rank : cluster.ranks) {
    rank.device.visible.push_back({2, "GPU", "GPU-2", 1});
    rank.device.visible.push_back({3, "GPU", "GPU-3", 1});
  }
  check_remark(cluster, "2 of the 4 GPUs of node0 would be idle", "srun --ntasks-per-node=4");
}

TEST_CASE("cuDNN of another major version is a fault, an older one a remark", "[doctor]") {
  auto cluster = good_cluster(1, 2);
  cluster.ranks[1].device.cudnn_loaded = "8.9.7";
  check_fault(cluster, "rank 1 loads cuDNN 8.9.7, but the program was compiled with 9.10.0",
              "module load cuDNN 9.10.0");
  cluster.ranks[1].device.cudnn_loaded = "9.9.0";
  check_remark(cluster, "9.9.0", "LD_LIBRARY_PATH");
}

TEST_CASE("a device transfer that crashes is a fault where MPI calls itself aware", "[doctor]") {
  auto cluster = good_cluster(1, 4);
  end_transfers(cluster, 2, End::crashed, "signal 11");
  check_fault(cluster, "crashed on rank 2 (signal 11), although MPI calls itself CUDA-aware",
              "--transport staged");
  end_transfers(cluster, 1, End::wrong, "3 of 256 elements");
  check_fault(cluster, "brought wrong elements on rank 1 (3 of 256 elements)",
              "--transport staged");
  for (TransferFacts& transfer : cluster.transfers) transfer.end = End::stalled;
  check_fault(cluster, "did not end on all ranks", "--transport staged");
}

TEST_CASE("without CUDA-awareness training stages, which works", "[doctor]") {
  auto cluster = good_cluster(1, 2);
  for (RankFacts& rank : cluster.ranks) rank.awareness = {"no", "no", false, ""};
  end_transfers(cluster, 0, End::crashed, "signal 11");
  check_remark(cluster, "MPI is not CUDA-aware", "CUDA-aware MPI");
}

TEST_CASE("GPU memory that arrives against MPI's own word is remarked", "[doctor]") {
  auto cluster = good_cluster(1, 2);
  for (RankFacts& rank : cluster.ranks) rank.awareness = {"no", "no", false, ""};
  check_remark(cluster, "although MPI does not call itself", "--transport device");
}

TEST_CASE("host messages that do not arrive are a fault", "[doctor]") {
  auto cluster = cpu_cluster(1, 2);
  end_transfers(cluster, 1, End::failed, "MPI_ERR_OTHER");
  check_fault(cluster, "messages between ranks: the transfer failed on rank 1 (MPI_ERR_OTHER)",
              "--mca btl tcp,self");
}

TEST_CASE("a step that never ended is a fault", "[doctor]") {
  ClusterFacts cluster;
  cluster.progress = {"start MPI", "did not end within 60 s", false};
  check_fault(cluster, "the step \"start MPI\" did not end within 60 s", "--timeout");
}

TEST_CASE("srun without its plugin may end MPI's start", "[doctor]") {
  auto cluster = cpu_cluster(1, 1);
  cluster.transfers.clear();
  cluster.ranks[0].launch.told_size = 4;
  cluster.progress = {"start MPI", "ended the process (exit code 1)", true};
  const Finding finding = all_findings(cluster).front();
  CHECK_THAT(finding.what, Contains("\"start MPI\" ended the process (exit code 1)"));
  CHECK_THAT(finding.change, Contains("srun --mpi=pmix -n 4 rueda doctor"));
}

TEST_CASE("faults come before remarks", "[doctor]") {
  auto cluster = cpu_cluster(1, 2);
  for (RankFacts& rank : cluster.ranks) rank.launch.slurm_nodes = 3;
  cluster.data = "data";
  cluster.ranks[0].data.failure = "gone";
  const Findings findings = all_findings(cluster);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].severity == Severity::fault);
  CHECK_FALSE(works(findings));
}
