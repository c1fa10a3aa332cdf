#include <catch2/catch.hpp>

#include "commands/doctor/process.hpp"
#include "tests/support/doctor_cluster.hpp"

using namespace rueda::doctor;
using Catch::Contains;
using rueda::NetworkInterface;
using rueda::test::cpu_cluster;
using rueda::test::good_cluster;
using End = TransferFacts::End;

namespace {

constexpr auto kFault = Severity::fault;
constexpr auto kRemark = Severity::remark;

/// The cluster with a change of each rank, of one rank, or of how each transfer ended.
ClusterFacts each(ClusterFacts cluster, void (*change)(RankFacts&)) {
  for (RankFacts& rank : cluster.ranks) change(rank);
  return cluster;
}
ClusterFacts one(ClusterFacts cluster, std::size_t rank, void (*change)(RankFacts&)) {
  change(cluster.ranks.at(rank));
  return cluster;
}
ClusterFacts ended(ClusterFacts cluster, std::size_t rank, End end, const std::string& detail) {
  for (TransferFacts& transfer : cluster.transfers) transfer.end = End::waited;
  cluster.transfers.at(rank).end = end;
  cluster.transfers.at(rank).detail = detail;
  return cluster;
}

/// The cluster gives one finding, and this one.
void check(const ClusterFacts& cluster, Severity severity, const std::string& what,
           const std::string& change) {
  const Findings findings = all_findings(cluster);
  CAPTURE(what);
  for (const auto& finding : findings) UNSCOPED_INFO(finding.what);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == severity);
  CHECK_THAT(findings[0].what, Contains(what));
  CHECK_THAT(findings[0].change, Contains(change));
  CHECK(verdict(findings) == (severity == kFault ? "will not work" : "works with remarks"));
}

ClusterFacts with_data() {
  ClusterFacts cluster = each(cpu_cluster(3, 1), [](RankFacts& rank) {
    rank.data.fingerprint = "1-2";
    rank.data.train_per_class.assign(10, 5000);
    rank.data.test_per_class.assign(10, 1000);
    rank.data.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                             "dog",      "frog",       "horse", "ship", "truck"};
  });
  cluster.data = "cifar";
  return cluster;
}

}  // namespace

TEST_CASE("a cluster in order gives no finding, nor does what is meant", "[doctor]") {
  for (const auto& cluster : {
           good_cluster(1, 1),
           good_cluster(2, 4),
           cpu_cluster(2, 2),
           with_data(),
           // A quota explains why cores are left, equal UUIDs on two hosts are two GPUs, a small
           // set may be uneven.
           each(cpu_cluster(1, 2),
                [](RankFacts& r) {
                  r.cores.allowed = {0, 1}, r.cores.online = 2;
                }),
           each(cpu_cluster(1, 2),
                [](RankFacts& r) { r.cores.allowed = {r.local_rank}, r.cores.quota = 2; }),
           each(good_cluster(2, 1), [](RankFacts& r) { r.device.visible[0].uuid = "GPU-same"; }),
           each(with_data(),
                [](RankFacts& r) { r.data.test_per_class = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}; }),
       }) {
    CHECK(all_findings(cluster).empty());
    CHECK(verdict(all_findings(cluster)) == "ok");
    CHECK(works(all_findings(cluster)));
  }
}

TEST_CASE("findings on the launch", "[doctor]") {
  const auto refused = [](const LaunchFacts& launch) {
    auto cluster = cpu_cluster(1, 1);
    cluster.ranks[0].launch = launch;
    return cluster;
  };
  check(refused({"srun", 4, "SLURM_STEP_NUM_TASKS", "refused", true, 4, 1, 16, ""}), kFault,
        "srun started 4 processes (SLURM_STEP_NUM_TASKS=4), but MPI sees a world of 1",
        "srun --mpi=pmix -n 4");
  check(refused({"mpirun", 2, "OMPI_COMM_WORLD_SIZE", "refused", false, 0, 0, 0, ""}), kFault,
        "OMPI_COMM_WORLD_SIZE=2", "mpirun -n 2");
  check(each(good_cluster(2, 4), [](RankFacts& r) { r.launch.slurm_nodes = 3; }), kRemark,
        "the allocation has 3 nodes, but the ranks are on 2", "srun --nodes=3");
  check(each(good_cluster(2, 4), [](RankFacts& r) { r.launch.slurm_tasks = 16; }), kRemark,
        "16 tasks (SLURM_NTASKS), but this run has 8", "srun -n 16");
}

TEST_CASE("findings on versions name component and ranks", "[doctor]") {
  check(one(good_cluster(2, 2), 3, [](RankFacts& r) { r.versions[1][1] = "MPICH 4"; }), kFault,
        "versions of MPI differ between ranks: MPICH 4 on rank 3, Open MPI 5 on ranks 0-2",
        "same program");
  check(one(good_cluster(2, 2), 3, [](RankFacts& r) { r.versions.pop_back(); }), kFault,
        "not there on rank 3", "same program");
}

TEST_CASE("findings on cores", "[doctor]") {
  auto cluster = one(cpu_cluster(1, 2), 1, [](RankFacts& r) { r.cores.allowed = {7, 8}; });
  check(cluster, kRemark, "bindings of ranks on node0 overlap", "--cpus-per-task=8");
  check(each(cluster, [](RankFacts& r) { r.launch.launcher = "mpirun"; }), kRemark, "overlap",
        "mpirun --map-by slot:PE=8 --bind-to core");
  check(each(cpu_cluster(1, 2),
             [](RankFacts& r) {
               r.cores.allowed = {r.local_rank}, r.cores.cores = {{0, 1}};
             }),
        kRemark, "hardware threads of one core", "--cpus-per-task=8");
  check(each(cpu_cluster(2, 2), [](RankFacts& r) { r.cores.allowed = {r.local_rank}; }), kRemark,
        "2 ranks on node0 may use 2 of its 16 cores (and so on 1 other host)",
        "#SBATCH --cpus-per-task=8");
  cluster =
      each(cpu_cluster(2, 2), [](RankFacts& r) { r.cores.allowed = {0}, r.cores.share = 0.5; });
  check(cluster, kRemark, "fewer than 2 whole cores (1 allowed)", "--cpus-per-task=8");
  check(each(cluster, [](RankFacts& r) { r.cores.online = 1; }), kRemark,
        "fewer than 2 whole cores", "--ntasks-per-node");
  cluster = cpu_cluster(2, 2);
  check(each(cluster, [](RankFacts& r) { r.copies_twice = "not permitted"; }), kRemark,
        "on node0 are copied twice, because no process may read the memory of another one (not "
        "permitted) (and so on 1 other host)",
        "--all-reduce shared");
}

TEST_CASE("what keeps ranks from cores is told apart, with the remedy that can help", "[doctor]") {
  const auto bound = each(cpu_cluster(1, 2), [](RankFacts& r) {
    r.launch.launcher = "mpirun", r.launch.in_slurm = false;
    r.cores.allowed = {r.local_rank}, r.cores.launcher = 16;
  });
  check(bound, kRemark, "2 of its 16 cores", "mpirun --bind-to none");
  check(each(bound, [](RankFacts& r) { r.cores.launcher = 2; }), kRemark,
        "not by the launcher, but by taskset", "without taskset");
  check(each(bound, [](RankFacts& r) { r.launch.launcher = "none", r.cores.launcher = 1; }),
        kRemark, "not by the launcher", "without taskset");
  const auto grouped = each(bound, [](RankFacts& r) { r.cores.cores.resize(2); });
  check(grouped, kRemark, "control group", "--cpuset-cpus");
  check(each(grouped, [](RankFacts& r) { r.launch.in_slurm = true; }), kRemark, "control group",
        "#SBATCH --exclusive");
  CHECK(all_findings(each(grouped, [](RankFacts& r) { r.launch.launcher = "none"; })).empty());
  check(each(bound, [](RankFacts& r) { r.launch.settings = {"OMP_PROC_BIND=true"}; }), kRemark,
        "OMP_PROC_BIND=true", "unset OMP_PROC_BIND");
  check(each(bound, [](RankFacts& r) { r.launch.settings = {"OMP_PROC_BIND=false"}; }), kRemark,
        "of its 16 cores", "mpirun --bind-to none");
}

TEST_CASE("a rank that does not get the time of its own cores is named", "[doctor]") {
  const auto got = [](double share) {
    ClusterFacts cluster = cpu_cluster(2, 2);
    cluster.ranks[3].cores.got = share;
    return cluster;
  };
  CHECK(all_findings(got(0.86)).empty());
  check(got(0.84), kRemark, "rank 3 on node1 got 84 % of the time of 8 cores: other programs",
        "#SBATCH --exclusive");
  const auto shared = each(got(0.4), [](RankFacts& r) { r.launch.in_slurm = false; });
  check(shared, kRemark, "got 40 %", "rueda train --threads 4");
  check(one(cpu_cluster(1, 1), 0, [](RankFacts& r) { r.cores.got = 0.4, r.cores.quota = 16; }),
        kRemark, "the quota of 16 cores", "--exclusive");
  const auto leaves =
      each(got(0.4), [](RankFacts& r) { r.launch.settings = {"OMPI_MCA_mpi_yield_when_idle=1"}; });
  check(leaves, kRemark, "took the rest (OMPI_MCA_mpi_yield_when_idle=1 is set)",
        "unset OMPI_MCA_mpi_yield_when_idle; #SBATCH --exclusive");
}

TEST_CASE("OpenMP that gives fewer threads is named with the variable", "[doctor]") {
  const auto team = [](int threads) {
    ClusterFacts cluster = cpu_cluster(2, 2);
    for (RankFacts& rank : cluster.ranks) {
      rank.cores.team = threads;
      rank.launch.settings = {"OMP_NUM_THREADS=4"};
    }
    return cluster;
  };
  CHECK(all_findings(team(8)).empty());
  CHECK(all_findings(team(0)).empty());  // never asked: a GPU computes
  check(team(3), kRemark, "all ranks: OpenMP gives 3 of 8 threads", "rueda train --threads 3");
  const auto other = one(team(8), 3, [](RankFacts& r) { r.cores.team = 2; });
  check(other, kRemark, "rank 3: OpenMP gives 2 of 8 threads", "--threads 2");
  for (const std::string set : {"OMP_THREAD_LIMIT=1", "KMP_DEVICE_THREAD_LIMIT=1"}) {
    ClusterFacts limited = team(1);
    for (RankFacts& rank : limited.ranks) rank.launch.settings.push_back(set);
    check(limited, kRemark, "OpenMP gives 1 of 8 threads (" + set + " is set)",
          "unset " + set.substr(0, set.find('=')) + "; or rueda train --threads 1");
  }
}

TEST_CASE("messages inside a host are judged by what its memory allows", "[doctor]") {
  const auto slow = each(cpu_cluster(2, 2), [](RankFacts& r) {
    r.host_link = {10, 1.1}, r.host_memory = {0.25, 12};
    r.launch.settings = {"OMPI_MCA_btl=tcp,self", "OMPI_MCA_mpi_yield_when_idle=1"};
  });
  check(slow, kRemark,
        "on node0 take 10 us and reach 1.1 GB/s, where its memory allows 0.25 us and 12 GB/s: they "
        "do not go through shared memory (OMPI_MCA_btl=tcp,self is set) (and so on 1 other host)",
        "unset OMPI_MCA_btl; mpirun --mca pml ob1");
  for (const auto& fine :
       {each(slow, [](RankFacts& r) { r.host_link.latency_us = 0.7; }),
        each(slow, [](RankFacts& r) { r.host_link.gb_per_second = 7; }),
        each(slow, [](RankFacts& r) { r.host_memory = {}; }),
        each(slow, [](RankFacts& r) { r.rank = 2 * r.local_rank + r.rank / 2; })})
    CHECK(all_findings(fine).empty());
  // Busy cores make messages slow: that alone is said.
  check(each(slow, [](RankFacts& r) { r.cores.got = 0.84; }), kRemark, "got 84 % of the time",
        "--exclusive");
  check(each(slow, [](RankFacts& r) { r.cores.got = 0.86; }), kRemark, "shared memory",
        "unset OMPI_MCA_btl");
}

TEST_CASE("findings on GPUs that are missing", "[doctor]") {
  auto cluster = cpu_cluster(1, 2);
  cluster.asked_backend = "cuda";
  check(cluster, kFault, "all ranks without a GPU: no CUDA driver", "#SBATCH --gres=gpu:2");
  cluster =
      each(cpu_cluster(1, 2), [](RankFacts& r) { r.launch.slurm_gpus = "SLURM_JOB_GPUS=0,1"; });
  check(cluster, kRemark, "without a GPU", "--gres=gpu:2");
  check(each(cluster, [](RankFacts& r) { r.device.built = false; }), kRemark, "without a GPU",
        "-Dcuda=enabled");
  cluster = one(good_cluster(2, 2), 3, [](RankFacts& r) {
    r.device.visible.clear();
    r.device.takes = -1;
    r.device.reason = "CUDA_VISIBLE_DEVICES is empty";
  });
  check(cluster, kFault, "rank 3 without a GPU: CUDA_VISIBLE_DEVICES is empty", "--gres=gpu:2");
  check(one(good_cluster(1, 2), 1, [](RankFacts& r) { r.device.failure = "cudaSetDevice: busy"; }),
        kFault, "rank 1: the GPU is visible but cannot be used: cudaSetDevice", "nvidia-smi");
  check(each(good_cluster(1, 2), [](RankFacts& r) { r.backend_failure = "--backend cuda: no"; }),
        kFault, "all ranks: --backend cuda: no", "--backend cpu");
}

TEST_CASE("findings on GPUs that are shared, hidden or idle", "[doctor]") {
  auto cluster = each(good_cluster(1, 2), [](RankFacts& r) {
    r.device.visible.resize(1);
    r.device.takes = 0;
  });
  check(cluster, kFault, "all ranks share one GPU (GPU-node0-0)", "--allow-shared-gpu");
  cluster.allow_shared_gpu = true;
  check(cluster, kRemark, "share one GPU", "--gres=gpu:N");
  cluster = each(good_cluster(1, 4), [](RankFacts& r) {
    r.device.visible = {rueda::CudaDevice(*r.device.taken())};
    r.device.takes = 0;
  });
  check(cluster, kRemark, "each rank on node0 sees its own GPU only", "#SBATCH --gres=gpu:4");
  cluster = each(good_cluster(1, 2), [](RankFacts& r) {
    r.device.visible.push_back({2, "GPU", "GPU-2", 1});
    r.device.visible.push_back({3, "GPU", "GPU-3", 1});
  });
  check(cluster, kRemark, "2 of the 4 GPUs of node0 would be idle", "srun --ntasks-per-node=4");
}

TEST_CASE("findings on cuDNN: another major version is a fault, an older one a remark",
          "[doctor]") {
  check(one(good_cluster(1, 2), 1, [](RankFacts& r) { r.device.cudnn_loaded = "8.9.7"; }), kFault,
        "rank 1 loads cuDNN 8.9.7, but the program was compiled with 9.10.0",
        "module load cuDNN 9.10.0");
  check(one(good_cluster(1, 2), 1, [](RankFacts& r) { r.device.cudnn_loaded = "9.9.0"; }), kRemark,
        "9.9.0", "LD_LIBRARY_PATH");
}

TEST_CASE("findings on transfers of GPU memory", "[doctor]") {
  check(ended(good_cluster(1, 4), 2, End::crashed, "signal 11"), kFault,
        "crashed on rank 2 (signal 11), although MPI calls itself CUDA-aware",
        "--transport staged");
  check(ended(good_cluster(1, 4), 1, End::wrong, "3 of 256 elements"), kFault,
        "brought wrong elements on rank 1 (3 of 256 elements)", "--transport staged");
  auto stalled = good_cluster(1, 4);
  for (TransferFacts& transfer : stalled.transfers) transfer.end = End::stalled;
  check(stalled, kFault, "did not end on all ranks", "--transport staged");
  // Without CUDA-awareness training stages, which works.
  const auto staged = each(good_cluster(1, 2), [](RankFacts& r) {
    r.awareness = {{false, ""}, "no", "no"};
  });
  check(staged, kRemark, "although MPI does not call itself", "--transport device");
  check(ended(staged, 0, End::crashed, "signal 11"), kRemark, "MPI is not CUDA-aware",
        "CUDA-aware MPI");
}

TEST_CASE("a UCX that may crash on GPU memory is a remark, for training does without", "[doctor]") {
  const auto old = each(good_cluster(1, 2), [](RankFacts& r) {
    r.awareness = {{false, "UCX 1.12.1 may crash", true}, "yes", "yes"};
  });
  check(old, kRemark, "arrived this time; training sends through host memory: UCX 1.12.1 may crash",
        "export UCX_MEMTYPE_CACHE=n");
  check(ended(old, 0, End::crashed, "signal 11"), kRemark,
        "the transfer crashed on rank 0 (signal 11); training sends", "UCX 1.13 or newer");
}

TEST_CASE("MPI that copies GPU memory through the host is told by two figures", "[doctor]") {
  const auto with = [](ClusterFacts cluster, double message, double copies) {
    for (TransferFacts& transfer : cluster.transfers) {
      transfer.link.gb_per_second = message;
      transfer.two_copies_gb_per_second = copies;
    }
    return cluster;
  };
  const ClusterFacts four = good_cluster(1, 4);
  const auto silent = [](const ClusterFacts& cluster) {
    for (const auto& finding : all_findings(cluster)) UNSCOPED_INFO(finding.what);
    CHECK(all_findings(cluster).empty());
  };
  check(with(four, 5.99, 6), kRemark,
        "reach 5.99 GB/s from rank 0 to rank 1, no more than two copies, to the host and back up, "
        "one after the other (6 GB/s): MPI seems to copy GPU memory through the host, on 4 of 4 "
        "links between GPUs of one host",
        "--all-reduce shared");
  silent(with(four, 6.01, 6));
  // A figure is missing, there is no GPU, or messages do not stay on a host.
  silent(with(four, 0.5, 0));
  silent(with(four, 0, 6));
  silent(with(cpu_cluster(1, 4), 0.5, 6));
  silent(with(good_cluster(4, 1), 0.5, 6));
  // The slower copy of the two ranks counts; the worst link speaks for all.
  ClusterFacts mixed = with(four, 10, 20);
  mixed.transfers[1].two_copies_gb_per_second = 9;
  mixed.transfers[2].link.gb_per_second = 5;
  check(mixed, kRemark, "5 GB/s from rank 2 to rank 3, no more than", "UCX");
  check(mixed, kRemark, "(20 GB/s): MPI seems to copy GPU memory through the host, on 2 of 4 links",
        "UCX");
  // Turns on one GPU, or on cores, make both figures say nothing.
  const auto share = [](RankFacts& rank) { rank.device.takes /= 2; };
  const ClusterFacts shared = each(with(four, 0.58, 6), share);
  for (const auto& finding : all_findings(shared)) CHECK_THAT(finding.what, !Contains("copies"));
  const ClusterFacts disturbed =
      each(with(four, 0.58, 6), [](RankFacts& rank) { rank.cores.got = 0.4; });
  for (const auto& finding : all_findings(disturbed)) CHECK_THAT(finding.what, !Contains("copies"));
  // An MPI that says no gets no GPU memory in training.
  const auto unaware = [](RankFacts& rank) { rank.awareness = {{false, ""}, "no", "no"}; };
  check(each(with(four, 0.58, 6), unaware), kRemark, "although MPI does not call itself", "");
}

TEST_CASE("findings on transfers of host memory", "[doctor]") {
  const std::string change = "--mca btl tcp,self";
  check(ended(cpu_cluster(1, 2), 1, End::failed, "MPI_ERR_OTHER"), kFault,
        "messages between ranks: the transfer failed on rank 1 (MPI_ERR_OTHER)", change);
  const auto set = [](RankFacts& r) { r.launch.settings = {"UCX_TLS=rc", "OMP_PLACES=cores"}; };
  check(each(ended(cpu_cluster(1, 2), 1, End::failed, "x"), set), kFault,
        "failed on rank 1 (x) (UCX_TLS=rc is set)", "unset UCX_TLS; mpirun");
  auto killed = ended(cpu_cluster(1, 4), 0, End::crashed, "signal 9, Killed");
  killed.transfers[2].detail = "signal 15, Terminated";  // by the launcher, after the crash
  check(killed, kFault, "the transfer crashed on rank 0 (signal 9, Killed)", change);
  check(ended(cpu_cluster(1, 2), 1, End::waited, "signal 15, Terminated"), kFault,
        "the transfer was ended from outside (signal 15, Terminated)", change);
}

TEST_CASE("only a signal of its own is a crash", "[doctor]") {
  for (const int own : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGKILL, 0})
    CHECK(end_by_signal(own, false) == End::crashed);
  for (const int foreign : {SIGTERM, SIGINT, SIGHUP})
    CHECK(end_by_signal(foreign, false) == End::waited);
  CHECK(end_by_signal(SIGKILL, true) == End::waited);   // the supervisor's own
  CHECK(end_by_signal(SIGSEGV, true) == End::crashed);  // before that came
}

TEST_CASE("findings on steps that did not end", "[doctor]") {
  ClusterFacts cluster;
  cluster.progress = {"start MPI", "did not end within 60 s", false};
  check(cluster, kFault, "the step \"start MPI\" did not end within 60 s", "--timeout");
  cluster = one(cpu_cluster(1, 1), 0, [](RankFacts& r) {
    r.launch.launched_size = 4, r.launch.settings = {"OMPI_MCA_pml=nonsense"};
  });
  cluster.progress = {"start MPI", "ended the process (exit code 1)", true};
  check(cluster, kFault, "ended the process (exit code 1) (OMPI_MCA_pml=nonsense is set)",
        "unset OMPI_MCA_pml; srun --mpi=pmix -n 4 rueda doctor");
  // As many threads as OpenMP was asked for cannot be started: its library ends the process.
  cluster.progress = {kTeamStep, "ended the process (exit code 1)", true};
  check(cluster, kFault, "the step \"start the threads\" ended the process", "pids limit");
}

TEST_CASE("a setting in a file is named with file and line, and with the line that takes it out",
          "[doctor]") {
  ClusterFacts cluster = cpu_cluster(1, 1);
  LaunchFacts& launch = cluster.ranks[0].launch;
  launch = {};
  launch.file_settings = {
      {"OMPI_MCA_pml", "ucx", "/home/some one/.openmpi/mca-params.conf", 3},
      {"OMPI_MCA_rmaps_base_oversubscribe", "1", "/home/some one/.openmpi/mca-params.conf", 4},
      {"OMPI_MCA_mtl", "^ofi", "/etc/openmpi/openmpi-mca-params.conf", 67},
      {"OMPI_MCA_btl", "^uct,openib,ofi", "/etc/openmpi/openmpi-mca-params.conf", 68},
      {"OMPI_MCA_osc", "^ucx,pt2pt", "/etc/openmpi/openmpi-mca-params.conf", 70}};
  CHECK(all_findings(cluster).empty());
  cluster.progress = {kStartStep, "ended the process (exit code 1)", true};
  const std::string set =
      "(exit code 1) (pml=ucx is set in line 3 of /home/some one/.openmpi/mca-params.conf)";
  check(cluster, kFault, set,
        "sed -i --follow-symlinks '3s/^/# /' '/home/some one/.openmpi/mca-params.conf'; mpirun");
  CHECK_THAT(all_findings(cluster)[0].what, Catch::EndsWith(set));  // and nothing of a distribution
  // Open MPI 5 hands its ranks what its mpirun read.
  launch.settings = {"OMPI_MCA_pml=ucx"};
  check(cluster, kFault, "(OMPI_MCA_pml=ucx is set) (pml=ucx is set in line 3",
        "unset OMPI_MCA_pml; sed -i");
  // A site that leaves shared memory out is named.
  launch.settings.clear();
  launch.file_settings = {{"OMPI_MCA_btl", "^vader", "/etc/openmpi/openmpi-mca-params.conf", 1}};
  check(cluster, kFault, "(btl=^vader is set in line 1 of /etc", "sed -i");
}

TEST_CASE("what a host lacks for a start of MPI is named where MPI does not start", "[doctor]") {
  ClusterFacts cluster = cpu_cluster(1, 1);
  cluster.ranks[0].launch = {};
  cluster.ranks[0].launch.obstacles = {{"HOME is not set", "export HOME=$PWD"}};
  CHECK(all_findings(cluster).empty());
  cluster.progress = {kStartStep, "ended the process (exit code 1)", true};
  check(cluster, kFault, "(exit code 1) (HOME is not set)", "export HOME=$PWD; mpirun -n 2");
  cluster.progress.step = kTeamStep;
  check(cluster, kFault, "ended the process", "ulimit -u");
}

TEST_CASE("findings on data", "[doctor]") {
  const auto failed = [](RankFacts& r) { r.data = {}, r.data.failure = "nothing is there"; };
  check(one(with_data(), 1, failed), kFault,
        "--data cifar: rank 1 cannot read it: nothing is there", "--data DIR");
  check(one(with_data(), 2, [](RankFacts& r) { r.data.fingerprint = "1-3"; }), kFault,
        "ranks 0-1 / rank 2", "copy one data set");
  const auto uneven = each(with_data(), [](RankFacts& r) {
    r.data.train_per_class[3] = 4999;
    r.data.train_per_class[5] = 5001;
  });
  check(uneven, kFault,
        "training set has 4999 images of class cat and 5001 of dog, CIFAR-10 has 5000 of each",
        "download");
  const auto lacks = [](RankFacts& r) { r.data.test_per_class = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0}; };
  check(each(with_data(), lacks), kRemark, "test set has 0 images of class truck", "download");
  check(each(with_data(), [](RankFacts& r) { r.data.remarks = {"small"}; }), kRemark, "data: small",
        "--data DIR");
}

TEST_CASE("faults come before remarks", "[doctor]") {
  auto cluster = each(cpu_cluster(1, 2), [](RankFacts& r) { r.launch.slurm_nodes = 3; });
  cluster.data = "data";
  cluster.ranks[0].data.failure = "gone";
  const Findings findings = all_findings(cluster);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].severity == kFault);
  CHECK_FALSE(works(findings));
}

namespace {

/// MPI did not start on two hosts with these interfaces, `lo` apart.
ClusterFacts never_started(const Interfaces& first, const Interfaces& second) {
  ClusterFacts cluster = cpu_cluster(2, 1);
  cluster.ranks.resize(1);
  cluster.transfers.clear();
  cluster.ranks[0].launch = {};
  cluster.ranks[0].launch.launcher = "mpirun";
  cluster.progress = {kStartStep, "did not end within 15 s", false};
  const NetworkInterface lo{"lo", "127.0.0.1", true, true};
  for (const auto& [host, own] : {std::pair{"node0", first}, std::pair{"node1", second}}) {
    RankFacts& facts = cluster.hosts[host] = cluster.ranks[0];
    facts.host = host;
    facts.network = {lo};
    facts.network.insert(facts.network.end(), own.begin(), own.end());
  }
  return cluster;
}

}  // namespace

TEST_CASE("an address that two hosts have is named, with the line that leaves it out", "[doctor]") {
  const NetworkInterface docker{"docker0", "172.17.0.1", true, false};
  const ClusterFacts cluster = never_started({{"eth0", "10.0.0.1", true, false}, docker},
                                             {{"eth0", "10.0.0.2", true, false}, docker});
  const Findings findings = all_findings(cluster);
  REQUIRE(findings.size() == 2);
  CHECK_THAT(findings[1].what, Contains("172.17.0.1 (docker0) on node0, node1"));
  CHECK_THAT(findings[1].change, Contains("mpirun --mca btl_tcp_if_exclude lo,docker0 ..."));
  CHECK_THAT(findings[1].change, Contains("export OMPI_MCA_btl_tcp_if_exclude=lo,docker0)"));

  ClusterFacts runs = cpu_cluster(2, 1);
  for (RankFacts& rank : runs.ranks) rank.network = cluster.hosts.at(rank.host).network;
  check(runs, kRemark, "hosts have one and the same address", "btl_tcp_if_exclude lo,docker0");
  runs.ranks[0].launch.settings = {"OMPI_MCA_btl_tcp_if_exclude=lo,docker0"};
  CHECK(all_findings(runs).empty());
}

TEST_CASE("what is no trouble of the network is not called one", "[doctor]") {
  const Interfaces first = {{"eth0", "10.0.0.1", true, false}};
  SECTION("different addresses") {
    CHECK(all_findings(never_started(first, {{"eth0", "10.0.0.2", true, false}})).size() == 1);
  }
  SECTION("one machine under two names") {
    CHECK(all_findings(never_started(first, first)).size() == 1);
  }
  SECTION("an interface that is down is not used, but named") {
    const Interfaces second = {{"eth0", "10.0.0.2", true, false},
                               {"eth1", "10.0.0.1", false, false}};
    const Findings findings = all_findings(never_started(first, second));
    REQUIRE(findings.size() == 2);
    CHECK(findings[1].severity == kRemark);
    CHECK_THAT(findings[1].what, Contains("eth1 (down) on node1"));
  }
  SECTION("a VPN is the only way") {
    const Interfaces second = {{"wg0", "10.9.0.2", true, false}};
    const Findings findings = all_findings(never_started(first, second));
    REQUIRE(findings.size() == 2);
    CHECK_THAT(findings[1].what, Contains("wg0 (VPN) on node1"));
    CHECK_THAT(findings[1].change, Contains("btl_tcp_if_include NETWORK/BITS"));
  }
}

TEST_CASE("what a host has left of itself says why MPI does not start", "[doctor]") {
  const NetworkInterface eth0{"eth0", "10.0.0.1", true, false};
  const NetworkInterface other{"eth0", "10.0.0.2", true, false};
  ClusterFacts cluster = never_started({eth0}, {other});
  cluster.ranks[0].launch.launcher = "srun";
  cluster.ranks[0].launch.in_slurm = true;
  cluster.ranks[0].launch.slurm_nodes = 2;
  cluster.ranks[0].launch.settings = {"OMPI_MCA_btl=self,tcp"};
  // With nothing to see the settings may be why. Where the ranks are is not known.
  check(cluster, kFault, "(OMPI_MCA_btl=self,tcp is set)", "unset OMPI_MCA_btl; srun --mpi=pmix");
  CHECK_FALSE(hosts_explain_no_start(cluster));
  SECTION("two MPI libraries") {
    cluster.hosts.at("node1").versions[1][1] = "Open MPI 4";
    REQUIRE(hosts_explain_no_start(cluster));
    const Findings findings = all_findings(cluster);
    REQUIRE(findings.size() == 2);
    CHECK_THAT(findings[0].change, Contains("said below"));
    CHECK(findings[1].what ==
          "versions of MPI differ between hosts: Open MPI 4 on node1, Open MPI 5 on node0");
  }
  SECTION("no room for temporary files on another host") {
    cluster.hosts.at("node1").launch.obstacles = {{"no room in /tmp", "export TMPDIR=/scratch"}};
    REQUIRE(hosts_explain_no_start(cluster));
    const Findings findings = all_findings(cluster);
    REQUIRE(findings.size() == 1);
    CHECK_THAT(findings[0].what, Contains("(on node1: no room in /tmp)"));
    CHECK_THAT(findings[0].change, Contains("on node1: export TMPDIR=/scratch; srun"));
  }
}

TEST_CASE("a link between hosts that is slower than the others is named", "[doctor]") {
  ClusterFacts cluster = cpu_cluster(4, 1);
  for (RankFacts& rank : cluster.ranks) rank.host_link = {40, 0.112};
  CHECK(all_findings(cluster).empty());
  const auto link = [&](std::size_t rank, double us, double speed) {
    static_cast<rueda::LinkSpeed&>(cluster.ranks[rank].host_link) = {us, speed};
  };
  SECTION("both ways of a host") {
    link(1, 40, 0.0059);
    link(2, 40, 0.006);
    check(cluster, kRemark, "; all of them are from or to node2", "#SBATCH --exclude=node2 ");
    CHECK_THAT(all_findings(cluster)[0].what, Contains("from node1 to node2 (0.0059 GB/s, 40 us), "
                                                       "from node2 to node3 (0.006 GB/s"));
  }
  SECTION("of three hosts") {
    cluster = cpu_cluster(3, 1);
    for (RankFacts& rank : cluster.ranks) rank.host_link = {40, 0.112};
    link(0, 40, 0.0059);
    link(1, 40, 0.006);
    check(cluster, kRemark, "; all of them are from or to node1", "#SBATCH --exclude=node1 ");
  }
  SECTION("one link, of one of two hosts") {
    link(3, 400, 0.112);
    check(cluster, kRemark, "from node3 to node0 (0.112 GB/s, 400 us)", "#SBATCH --exclude=HOST ");
  }
  SECTION("no more than noise") {
    link(1, 49, 0.06);
    CHECK(all_findings(cluster).empty());
    link(1, 40, 0.055);
    CHECK(all_findings(cluster).size() == 1);
    link(1, 159, 0.112);
    CHECK(all_findings(cluster).empty());
    link(1, 161, 0.112);
    CHECK(all_findings(cluster).size() == 1);
  }
  SECTION("of a rank without its core nothing is said of a network") {
    link(1, 40, 0.0059);
    cluster.ranks[1].cores.got = 0.2;
    for (const auto& finding : all_findings(cluster))
      CHECK_THAT(finding.what, !Contains("best link"));
  }
}

TEST_CASE("a network that is slow as a whole is told", "[doctor]") {
  ClusterFacts cluster = cpu_cluster(2, 1);
  const auto links = [&](double us, double speed) {
    for (RankFacts& rank : cluster.ranks) rank.host_link = {us, speed};
  };
  links(999, 0.063);
  CHECK(all_findings(cluster).empty());
  links(21'000, 0.112);
  check(cluster, kRemark, "takes at least 21000 us and reaches at most 0.112 GB/s (2 links)",
        "btl_tcp_if_include NETWORK/BITS");
  links(40, 0.06);
  check(cluster, kRemark, "reaches at most 0.06 GB/s", "btl_tcp_if_include");
}

TEST_CASE("root is told what mpirun will want, while there is no mpirun yet", "[doctor]") {
  ClusterFacts alone = cpu_cluster(1, 1);
  alone.ranks[0].launch = {};
  CHECK(all_findings(alone).empty());
  alone.ranks[0].launch.refuses_root = true;
  check(alone, kRemark, "you are root", "export OMPI_ALLOW_RUN_AS_ROOT=1");
  for (const auto& change : std::initializer_list<void (*)(RankFacts&)>{
           [](RankFacts& rank) { rank.launch.launcher = "mpirun"; },
           [](RankFacts& rank) {
             rank.versions = {{"MPI", "MPICH 4"}};
           },
           [](RankFacts& rank) { rank.launch.in_slurm = true; }}) {
    CHECK(all_findings(one(alone, 0, change)).empty());
  }
}

TEST_CASE("what jobs/env.sh sets is never blamed", "[doctor]") {
  LaunchFacts launch;
  launch.settings = {"OMPI_MCA_btl_base_warn_component_unused=0",
                     "OMPI_MCA_btl_vader_single_copy_mechanism=none"};
  CHECK(settings_like(".", launch).what.empty());
  launch.settings = {"OMPI_MCA_btl_vader_single_copy_mechanism=emulated"};
  CHECK_FALSE(settings_like(".", launch).what.empty());
}
