// Times the all-reduces on one buffer in host memory, alternating in one run.
//
//   mpiexec -n P ring_bandwidth [BYTES...]        (docs/ring.md says how to launch and to read it)
//
// Each repetition fills the buffer, meets at a barrier, sums, and checks every element. The time of
// a repetition is the slowest rank's; the table shows medians. GB = 10^9 bytes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/fixed_order_all_reduce.hpp"
#include "mpi/mpi_all_reduce.hpp"
#include "mpi/ring_all_reduce.hpp"
#include "mpi/session.hpp"
#include "mpi/version.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "tests/support/values.hpp"

namespace {

using namespace rueda;
using Algorithms = std::vector<std::unique_ptr<AllReduce>>;

/// 4 B to 100 MB, and the gradients of resnet20, resnet18 and resnet50v2 (10 classes).
const std::vector<std::size_t> kDefaultBytes = {
    4,        64,         1'000,      10'000,         100'000,        269'722 * 4,
    4000'000, 10'000'000, 40'000'000, 11'173'962 * 4, 23'539'850 * 4, 100'000'000};

std::vector<std::size_t> sizes_from(int argc, char** argv) {
  std::vector<std::size_t> bytes;
  for (int i = 1; i < argc; ++i) {
    bytes.push_back(std::strtoull(argv[i], nullptr, 10));
    if (bytes.back() < sizeof(float)) throw InputError("a size is a number of bytes, 4 or more");
  }
  return bytes.empty() ? kDefaultBytes : bytes;
}

std::size_t repetitions(std::size_t bytes) {
  return std::clamp<std::size_t>(200'000'000 / bytes, 15, 200);
}

/// Seconds that `reduce` took on this rank.
double timed_sum(AllReduce& reduce, Communicator& comm, std::vector<float>& buffer) {
  comm.barrier();
  const auto begin = std::chrono::steady_clock::now();
  reduce.sum(buffer, {});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void check_sums(const std::string& name, const Communicator& comm, std::span<const float> buffer) {
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    if (buffer[i] == test::whole_sum(comm.size(), i)) continue;
    throw RunError(name + ": wrong sum in element " + std::to_string(i) + " of " +
                   std::to_string(buffer.size()) + " on rank " + std::to_string(comm.rank()));
  }
}

/// The median over repetitions of the slowest rank's seconds; on every rank.
double median_of_slowest(Communicator& comm, const std::vector<double>& mine) {
  std::vector<double> slowest(mine.size(), 0.0);
  for (const auto& bytes : comm.all_gather(std::as_bytes(std::span(mine)))) {
    std::vector<double> theirs(mine.size());
    std::memcpy(theirs.data(), bytes.data(), bytes.size());
    for (std::size_t i = 0; i < mine.size(); ++i) slowest[i] = std::max(slowest[i], theirs[i]);
  }
  const auto middle = slowest.begin() + static_cast<std::ptrdiff_t>(slowest.size() / 2);
  std::nth_element(slowest.begin(), middle, slowest.end());
  return *middle;
}

/// Median seconds of each algorithm for one size. They take turns, and take turns in going first.
std::vector<double> measure(Communicator& comm, const Algorithms& algorithms, std::size_t length) {
  const auto values = test::filled<test::whole_value>(comm.rank(), length);
  const std::size_t count = repetitions(length * sizeof(float));
  std::vector<std::vector<double>> seconds(algorithms.size());
  std::vector<float> buffer(length);
  for (std::size_t i = 0; i < count + 1; ++i) {
    for (std::size_t k = 0; k < algorithms.size(); ++k) {
      const std::size_t a = (i + k) % algorithms.size();
      std::copy(values.begin(), values.end(), buffer.begin());
      const double time = timed_sum(*algorithms[a], comm, buffer);
      check_sums(std::string(algorithms[a]->name()), comm, buffer);
      if (i > 0) seconds[a].push_back(time);  // the first round warms up
    }
  }
  std::vector<double> medians;
  for (const auto& s : seconds) medians.push_back(median_of_slowest(comm, s));
  return medians;
}

void print_header(Communicator& comm) {
  const auto hosts = all_gather_text(comm, comm.host());
  const auto foreign =
      std::count_if(hosts.begin(), hosts.end(), [&](const auto& h) { return h != hosts.front(); });
  if (comm.rank() != 0) return;
  std::printf("%s\n%d ranks, %s; slowest rank, median; ratio = MPI_Allreduce's time / this one's\n",
              mpi_library_version().c_str(), comm.size(),
              foreign == 0 ? "one host" : "several hosts");
  std::printf("%12s  %-12s %11s %12s %12s %7s\n", "bytes", "all-reduce", "ms", "algbw GB/s",
              "busbw GB/s", "ratio");
}

void print_row(const Communicator& comm, std::size_t bytes, const AllReduce& reduce, double seconds,
               double reference) {
  const double algbw = static_cast<double>(bytes) / seconds * 1e-9;
  const double busbw = algbw * 2 * (comm.size() - 1) / comm.size();
  std::printf("%12zu  %-12s %11.4f %12.3f %12.3f %7.2f\n", bytes,
              std::string(reduce.name()).c_str(), seconds * 1e3, algbw, busbw, reference / seconds);
}

void run(Communicator& comm, const std::vector<std::size_t>& sizes) {
  test::HostReduceDevice device;
  Algorithms algorithms;
  algorithms.push_back(std::make_unique<RingAllReduce>(comm, device));
  algorithms.push_back(std::make_unique<FixedOrderAllReduce>(comm, device));
  algorithms.push_back(std::make_unique<MpiAllReduce>(comm, device));
  print_header(comm);
  for (const std::size_t bytes : sizes) {
    const std::size_t length = bytes / sizeof(float);
    const auto seconds = measure(comm, algorithms, length);
    if (comm.rank() != 0) continue;
    for (std::size_t a = 0; a < algorithms.size(); ++a) {
      print_row(comm, length * sizeof(float), *algorithms[a], seconds[a], seconds.back());
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Session mpi(ThreadLevel::funneled);
  try {
    Communicator comm;
    run(comm, sizes_from(argc, argv));
    return 0;
  } catch (const Error& error) {
    std::cerr << "ring_bandwidth: " << error.what() << std::endl;
    mpi.abort(error.code());
  }
}
