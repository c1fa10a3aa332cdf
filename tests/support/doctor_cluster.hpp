#pragma once

#include <string>

#include "commands/doctor/facts.hpp"

namespace rueda::test {

/// A run in which all is well: `hosts` nodes of 16 cores with `ranks_per_host` ranks, bound to
/// equal parts, a GPU each, started by srun; GPU memory arrives.
inline doctor::ClusterFacts good_cluster(int hosts, int ranks_per_host) {
  doctor::ClusterFacts cluster;
  const int size = hosts * ranks_per_host;
  const int cores = 16 / ranks_per_host;
  for (int rank = 0; rank < size; ++rank) {
    doctor::RankFacts facts;
    facts.rank = rank;
    facts.size = size;
    facts.local_rank = rank % ranks_per_host;
    facts.local_size = ranks_per_host;
    facts.host = "node" + std::to_string(rank / ranks_per_host);
    facts.backend = "cuda";
    facts.versions = {{"rueda", "1.0"}, {"MPI", "Open MPI 5"}};
    facts.host_memory_bytes = 256'000'000'000;
    facts.launch = {"srun", size,  "SLURM_STEP_NUM_TASKS", "", true, size,
                    hosts,  cores, "SLURM_JOB_GPUS=0"};
    facts.cores = {{cores, ""}, {}, 16, 0, double(cores), {}};
    for (int c = 0; c < 16; ++c) facts.cores.cores.push_back({c});
    for (int c = 0; c < cores; ++c) facts.cores.allowed.push_back(facts.local_rank * cores + c);
    for (int gpu = 0; gpu < ranks_per_host; ++gpu) {
      facts.device.visible.push_back(
          {gpu, "GPU of a test", "GPU-" + facts.host + "-" + std::to_string(gpu), 80'000'000'000});
    }
    facts.device.built = true;
    facts.device.hardware = true;
    facts.device.takes = facts.local_rank;
    facts.device.free_bytes = 79'000'000'000;
    facts.device.driver_version = 13000;
    facts.device.runtime_version = 13000;
    facts.device.cudnn_compiled = "9.10.0";
    facts.device.cudnn_loaded = "9.19.0";
    facts.awareness = {{true, "the MPI library says so"}, "yes", "yes"};
    facts.host_link = {1.5, 10};
    cluster.ranks.push_back(facts);
    doctor::TransferFacts transfer;
    transfer.end = doctor::TransferFacts::End::arrived;
    transfer.device = true;
    transfer.link = {3, 100};
    cluster.transfers.push_back(transfer);
  }
  cluster.progress.step = "leave MPI";
  return cluster;
}

/// The same nodes without GPUs.
inline doctor::ClusterFacts cpu_cluster(int hosts, int ranks_per_host) {
  doctor::ClusterFacts cluster = good_cluster(hosts, ranks_per_host);
  for (doctor::RankFacts& rank : cluster.ranks) {
    rank.backend = "cpu";
    rank.launch.slurm_gpus.clear();
    rank.device = {};
    rank.device.built = true;
    rank.device.reason = "no CUDA driver";
    rank.awareness = {{false, "the MPI library says no"}, "no", "no"};
  }
  for (doctor::TransferFacts& transfer : cluster.transfers) {
    transfer.device = false;
    transfer.link = {};
  }
  return cluster;
}

}  // namespace rueda::test
