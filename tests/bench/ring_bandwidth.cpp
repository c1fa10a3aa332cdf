// Times the all-reduces on one buffer of a backend's memory, alternating in one run.
//
//   mpiexec -n P ring_bandwidth [--backend cpu|cuda] [--transport auto|device|staged]
//                               [--allow-shared-gpu] [--repetitions N] [BYTES...]
//
// docs/ring.md says how to launch and to read it. Each repetition fills the buffer, meets at a
// barrier, sums, and checks every element. The time of a repetition is the slowest rank's; the
// table shows medians. GB = 10^9 bytes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands/device_choice.hpp"
#include "commands/launcher_env.hpp"
#include "commands/open_backend.hpp"
#include "commands/shared_device_check.hpp"
#include "commands/transport.hpp"
#include "mpi/communicator.hpp"
#include "mpi/fixed_order_all_reduce.hpp"
#include "mpi/mpi_all_reduce.hpp"
#include "mpi/ring_all_reduce.hpp"
#include "mpi/session.hpp"
#include "mpi/version.hpp"
#include "ring_options.hpp"
#include "tests/support/values.hpp"

namespace {

using namespace rueda;
using Algorithms = std::vector<std::unique_ptr<AllReduce>>;

std::size_t repetitions(std::size_t bytes) {
  return std::clamp<std::size_t>(200'000'000 / bytes, 15, 200);
}

/// What every measurement uses: the ranks, a device's memory, and the ways to sum it.
struct Bench {
  Communicator& comm;
  Backend& backend;
  Transport transport;
  std::size_t repetitions;  // 0: by the size
  Algorithms algorithms = {};
};

std::unique_ptr<Exchange> make_exchange(Bench& bench) {
  if (bench.transport != Transport::staged) return std::make_unique<DirectExchange>(bench.comm);
  return std::make_unique<StagedExchange>(bench.comm, bench.backend.reduce_device());
}

void add_algorithms(Bench& bench) {
  ReduceDevice& device = bench.backend.reduce_device();
  bench.algorithms.push_back(std::make_unique<RingAllReduce>(make_exchange(bench), device));
  bench.algorithms.push_back(std::make_unique<FixedOrderAllReduce>(make_exchange(bench), device));
  bench.algorithms.push_back(std::make_unique<MpiAllReduce>(make_exchange(bench), device));
}

/// Seconds that `reduce` took on this rank.
double timed_sum(Bench& bench, AllReduce& reduce, std::span<float> buffer) {
  ReduceDevice& device = bench.backend.reduce_device();
  bench.backend.finish();
  bench.comm.barrier();
  const auto begin = std::chrono::steady_clock::now();
  device.wait(reduce.sum(buffer, device.record()));
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
std::vector<double> measure(Bench& bench, std::span<float> buffer) {
  const auto values = test::filled<test::whole_value>(bench.comm.rank(), buffer.size());
  const std::size_t count =
      bench.repetitions > 0 ? bench.repetitions : repetitions(buffer.size_bytes());
  std::vector<std::vector<double>> seconds(bench.algorithms.size());
  std::vector<float> sums(buffer.size());
  for (std::size_t i = 0; i < count + 1; ++i) {
    for (std::size_t k = 0; k < bench.algorithms.size(); ++k) {
      const std::size_t a = (i + k) % bench.algorithms.size();
      bench.backend.upload(buffer, values);
      const double time = timed_sum(bench, *bench.algorithms[a], buffer);
      bench.backend.download(sums, buffer);
      check_sums(std::string(bench.algorithms[a]->name()), bench.comm, sums);
      if (i > 0) seconds[a].push_back(time);  // the first round warms up
    }
  }
  std::vector<double> medians;
  for (const auto& s : seconds) medians.push_back(median_of_slowest(bench.comm, s));
  return medians;
}

void print_header(const Bench& bench) {
  Communicator& comm = bench.comm;
  const auto hosts = all_gather_text(comm, comm.host());
  const auto foreign =
      std::count_if(hosts.begin(), hosts.end(), [&](const auto& h) { return h != hosts.front(); });
  if (comm.rank() != 0) return;
  std::printf("%s\n%d ranks, %s; slowest rank, median; ratio = MPI_Allreduce's time / this one's\n",
              mpi_library_version().c_str(), comm.size(),
              foreign == 0 ? "one host" : "several hosts");
  std::printf("memory: %s; to MPI: %s\n", bench.backend.device().c_str(),
              to_string(bench.transport));
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

void print_rows(Bench& bench, const std::vector<std::size_t>& sizes) {
  // Once and for all sizes, as the arenas of a training run.
  const auto memory = bench.backend.allocate(*std::max_element(sizes.begin(), sizes.end()));
  for (const std::size_t bytes : sizes) {
    const auto buffer = memory->floats().first(bytes / sizeof(float));
    const auto seconds = measure(bench, buffer);
    if (bench.comm.rank() != 0) continue;
    for (std::size_t a = 0; a < bench.algorithms.size(); ++a) {
      print_row(bench.comm, buffer.size_bytes(), *bench.algorithms[a], seconds[a], seconds.back());
    }
    std::fflush(stdout);
  }
}

void run(Communicator& comm, const bench::RingOptions& options, const SelectedDevice& device) {
  const std::string remark =
      check_shared_devices(comm, {comm.host(), device.uuid}, options.allow_shared_gpu);
  std::unique_ptr<Backend> backend;
  together(comm, [&] { backend = open_backend({.choice = options.backend}); });
  const auto decision = settle_transport(comm, options.transport, backend->reduce_device());
  for (const std::string& text : {remark, decision.warning}) {
    if (!text.empty()) std::cerr << "note: " << text << std::endl;
  }
  Bench bench{comm, *backend, decision.transport, options.repetitions};
  add_algorithms(bench);
  print_header(bench);
  print_rows(bench, options.bytes);
}

/// What precedes MPI: what fails there is thrown when all ranks can agree on it.
struct Start {
  Start(int argc, char** argv) {
    try {
      options = bench::parse_ring_options({argv + 1, argv + argc});
      device = select_device(options.backend);
      failure = device.failure;
    } catch (...) {
      failure = std::current_exception();
    }
  }

  bench::RingOptions options;
  SelectedDevice device;
  std::exception_ptr failure;
};

}  // namespace

int main(int argc, char** argv) {
  const Start start(argc, argv);
  Session mpi(ThreadLevel::funneled);
  try {
    Communicator comm;
    together(comm, [&] {
      if (start.failure) std::rethrow_exception(start.failure);
    });
    run(comm, start.options, start.device);
    return 0;
  } catch (const Error& error) {
    const bool agreed = is_agreed(error);
    if (!agreed || speaks_for_all()) std::cerr << "ring_bandwidth: " << error.what() << std::endl;
    if (agreed) return static_cast<int>(error.code());
    mpi.abort(error.code());
  }
}
