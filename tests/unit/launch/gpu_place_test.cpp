#include "launch/gpu_place.hpp"

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "../../support/common.hpp"

using namespace rueda;
using namespace std::string_literals;

namespace {

std::vector<int> processors(int first, int last) {
  std::vector<int> all(std::size_t(last - first));
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// Cores of one processor each.
CoreList plain_cores(int count) {
  CoreList cores;
  for (int core = 0; core < count; ++core) cores.push_back({core});
  return cores;
}

/// The shares of all ranks, which are disjoint and as large as without GPUs.
ProcessorLists shares_of(const CoreList& cores, const std::vector<int>& allowed,
                         const ProcessorLists& near) {
  ProcessorLists shares;
  std::multiset<int> given;
  for (std::size_t rank = 0; rank < near.size(); ++rank) {
    shares.push_back(rank_share(cores, allowed, near, rank));
    given.insert(shares.back().begin(), shares.back().end());
    const auto plain = rank_share(cores, allowed, ProcessorLists(near.size()), rank);
    CHECK(shares.back().size() == plain.size());
  }
  CHECK(given == std::multiset<int>(allowed.begin(), allowed.end()));
  return shares;
}

/// A made root with GPUs of NVIDIA's.
struct GpuHost : test::ScratchDirectory {
  void add_gpu(const std::string& address, int minor, int node, const std::string& near,
               const std::string& model = "NVIDIA A100-SXM4-40GB") const {
    const std::string number = std::to_string(minor);
    write("proc/driver/nvidia/gpus/" + address + "/information",
          "Model: \t\t " + model + "\nIRQ:   \t\t 285\nGPU UUID: \t GPU-a" + number +
              "c0-77\nBus Location: \t " + address + "\nDevice Minor: \t " + number +
              "\nGPU Excluded:\t No\n");
    write("dev/nvidia" + number, "");
    write("sys/bus/pci/devices/" + address + "/numa_node", std::to_string(node) + "\n");
    write("sys/bus/pci/devices/" + address + "/local_cpulist", near + "\n");
  }
  ProcessorLists near(std::size_t ranks, const std::string& launch = "") const {
    return near_gpus(path(), "PATH=/bin\0"s + launch, ranks);
  }
};

/// Domains 0 and 1 of two processors, and as many GPUs: those of domain 1 come first.
struct FourGpus : GpuHost {
  FourGpus() {
    add_gpu("0000:07:00.0", 3, 1, "2-3");
    add_gpu("0000:0f:00.0", 2, 1, "2-3");
    add_gpu("0000:47:00.0", 1, 0, "0,1");
    add_gpu("0000:4e:00.0", 0, 0, "0,1");
  }
};
const std::vector<int> kZero{0, 1}, kOne{2, 3};

/// Eight domains of 16 cores with two hardware threads, which Linux numbers last.
struct DgxA100 : GpuHost {
  CoreList cores;
  std::vector<int> allowed = processors(0, 256);

  DgxA100() {
    for (int core = 0; core < 128; ++core) cores.push_back({core, core + 128});
    const char* addresses[] = {"07", "0f", "47", "4e", "87", "90", "b7", "bd"};
    const int nodes[] = {3, 3, 1, 1, 7, 7, 5, 5};
    const int minors[] = {2, 3, 0, 1, 6, 7, 4, 5};
    for (int i = 0; i < 8; ++i) {
      const int first = 16 * nodes[i];
      add_gpu("0000:"s + addresses[i] + ":00.0", minors[i], nodes[i],
              std::to_string(first) + '-' + std::to_string(first + 15) + ',' +
                  std::to_string(first + 128) + '-' + std::to_string(first + 143));
    }
  }
};

void add(std::vector<int>& all, int first, int last) {
  for (const int processor : processors(first, last)) all.push_back(processor);
}

TEST_CASE("Ranks of a DGX A100 lie on their GPUs' domains, then on the next", "[gpu_place]") {
  const DgxA100 host;
  const auto shares = shares_of(host.cores, host.allowed, host.near(8));
  const int nodes[] = {3, 3, 1, 1, 7, 7, 5, 5};
  for (int rank = 0; rank < 8; ++rank) {
    CAPTURE(rank);
    const int half = 8 * (rank % 2), domain = 16 * nodes[rank] + half, next = domain - 16;
    std::vector<int> wanted;  // half of its domain and of the one before, which has no GPU
    for (const int first : {next, domain, next + 128, domain + 128}) add(wanted, first, first + 8);
    CHECK(shares[std::size_t(rank)] == wanted);
  }
}

TEST_CASE("A domain whose cores are not allowed gives none, and its rank takes others",
          "[gpu_place]") {
  const CoreList cores = plain_cores(8);
  const ProcessorLists near{{6, 7}, {2, 3}, {0, 1}};
  const auto shares = shares_of(cores, {0, 1, 4, 5, 6, 7}, near);
  CHECK(shares == ProcessorLists{{6, 7}, {4, 5}, {0, 1}});
}

TEST_CASE("More ranks than a domain has cores", "[gpu_place]") {
  const auto shares = shares_of(plain_cores(7), processors(0, 7), {{4, 5}, {4, 5}, {4, 5}});
  CHECK(shares == ProcessorLists{{0, 1, 4}, {2, 5}, {3, 6}});
  CHECK(rank_share(plain_cores(2), {0, 1}, {{0, 1}, {0, 1}, {0, 1}}, 0).empty());
}

TEST_CASE("A rank alone on a large domain takes no more than its share", "[gpu_place]") {
  const auto shares = shares_of(plain_cores(4), processors(0, 4), {{1, 2, 3}, {0}});
  CHECK(shares == ProcessorLists{{1, 2}, {0, 3}});
}

TEST_CASE("One domain, and domains that overlap, are shared out, too", "[gpu_place]") {
  for (std::size_t ranks = 1; ranks <= 7; ++ranks) {
    const auto all = processors(0, 7);
    const auto plain = shares_of(plain_cores(7), all, ProcessorLists(ranks));
    CHECK(shares_of(plain_cores(7), all, ProcessorLists(ranks, all)) == plain);
    ProcessorLists near(ranks, {0, 1, 2, 3});
    near.back() = {2, 3, 4};
    shares_of(plain_cores(7), all, near);
  }
}

TEST_CASE("Ranks take GPUs by their addresses, and again from the first", "[gpu_place]") {
  const FourGpus host;
  CHECK(host.near(5) == ProcessorLists{kOne, kOne, kZero, kZero, kOne});
}

TEST_CASE("A GPU whose node the kernel does not know is near no processor", "[gpu_place]") {
  const GpuHost host;
  CHECK(host.near(2) == ProcessorLists(2));  // no driver
  host.add_gpu("0000:07:00.0", 0, -1, "0-3");
  host.add_gpu("0000:47:00.0", 1, 0, "0-1");
  CHECK(host.near(2) == ProcessorLists{{}, kZero});
}

TEST_CASE("CUDA_VISIBLE_DEVICES chooses by number and UUID", "[gpu_place]") {
  const FourGpus host;
  const struct {
    const char* words;
    ProcessorLists near;
  } cases[] = {
      {"2,0", {kZero, kOne}},     {"GPU-a1,GPU-a3c0-77", {kZero, kOne}},
      {"2,-1,0", {kZero, kZero}}, {"2,0x", {kZero, kZero}},
      {"0,4,2", {kOne, kOne}},    {"", {{}, {}}},
      {"GPU-a", {{}, {}}},        {"MIG-a1c0", {{}, {}}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.words);
    CHECK(host.near(2, "CUDA_VISIBLE_DEVICES="s + c.words + '\0') == c.near);
  }
  const auto several = "CUDA_VISIBLE_DEVICES=0\0CUDA_VISIBLE_DEVICES=2\0"s;
  CHECK(host.near(2, several) == ProcessorLists(2));  // ranks may see different ones
}

TEST_CASE("Ranks that compute on the CPU are near no GPU", "[gpu_place]") {
  const FourGpus host;
  for (const auto& words : {"--backend\0cpu\0"s, "--backend=cpu\0"s, "--backend\0timed\0"s}) {
    CAPTURE(words);
    CHECK(host.near(2, "rueda\0train\0"s + words + "--epochs\0001\0"s) == ProcessorLists(2));
  }
  for (const auto& words :
       {"--backend\0cuda\0"s, "--backend=auto\0"s, "--backend\0cpus\0"s, "--name\0cpu\0"s}) {
    CAPTURE(words);
    CHECK(host.near(2, "rueda\0train\0"s + words) == ProcessorLists(2, kOne));
  }
}

TEST_CASE("GPUs that a process may not open, or the driver excludes, have no number",
          "[gpu_place]") {
  const FourGpus host;
  std::filesystem::remove(host.path() / "dev/nvidia3");
  host.write("proc/driver/nvidia/gpus/0000:0f:00.0/information",
             "Model: NVIDIA A100-SXM4-40GB\nDevice Minor: 2\nGPU Excluded: Yes\n");
  CHECK(host.near(2) == ProcessorLists{kZero, kZero});
}

TEST_CASE("Different GPUs have known numbers where CUDA counts by address", "[gpu_place]") {
  const FourGpus host;
  host.add_gpu("0000:01:00.0", 4, 0, "0,1", "NVIDIA T400");
  CHECK(host.near(2) == ProcessorLists(2));
  CHECK(host.near(2, "CUDA_DEVICE_ORDER=PCI_BUS_ID\0"s) == ProcessorLists{kZero, kOne});
}

TEST_CASE("Processors in a list of the kernel's", "[gpu_place]") {
  const test::ScratchDirectory folder;
  CHECK(processors_in(folder.write("list", "0-2,8,10-9,x,4-,5-99999999999,7\n")) ==
        std::vector<int>{0, 1, 2, 8, 7});
  CHECK(processors_in(folder.path() / "absent").empty());
}

}  // namespace
