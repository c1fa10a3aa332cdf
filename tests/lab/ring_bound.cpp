// Times an all-reduce over several hosts beside what the links allow, measured in the same run.
//
//   mpiexec -n P ring_bound [--all-reduce WORD] [--segment-kb N] [--repetitions N] BYTES
//
// Rank 0 prints one line of JSON: alpha (seconds, one way) and bandwidth (bytes/s) of the links
// between neighbours, medians over the ranks; the two bounds of docs/ring.md, "On emulated hosts";
// and the times of the repetitions, each the slowest rank's. Every sum is checked.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/probes/link_probe.hpp"
#include "mpi/session/communicator.hpp"
#include "mpi/session/session.hpp"
#include "rueda/core/error.hpp"
#include "rueda/reduce/exchange_buffer.hpp"
#include "rueda/reduce/host_adder.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "wiring/make_all_reduce.hpp"

namespace {

using namespace rueda;

struct Options {
  Algorithm algorithm = Algorithm::ring;
  std::size_t segment_bytes = 0;  // 0: as the all-reduce decides
  int repetitions = 9;
  std::size_t floats = 0;
};

Options parse(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&] { return i + 1 < words.size() ? words[++i] : std::string("0"); };
    if (words[i] == "--all-reduce") {
      const std::string word = value();
      for (const Algorithm a : {Algorithm::ring, Algorithm::hierarchical, Algorithm::mpi}) {
        if (word == to_string(a)) options.algorithm = a;
      }
    } else if (words[i] == "--segment-kb") {
      options.segment_bytes = std::strtoull(value().c_str(), nullptr, 10) * 1024;
    } else if (words[i] == "--repetitions") {
      options.repetitions = std::max(1, std::atoi(value().c_str()));
    } else {
      options.floats = std::strtoull(words[i].c_str(), nullptr, 10) / sizeof(float);
    }
  }
  if (options.floats == 0) {
    throw InputError(
        "usage: ring_bound [--all-reduce WORD] [--segment-kb N] [--repetitions N] BYTES");
  }
  return options;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Small whole numbers, so that every order of additions gives the same sum.
float value_of(int rank, std::size_t i) { return static_cast<float>((i + 7 * rank) % 1001); }

void check(const Communicator& world, std::span<const float> sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    float sum = 0;
    for (int rank = 0; rank < world.size(); ++rank) sum += value_of(rank, i);
    if (sums[i] == sum) continue;
    throw RunError("wrong sum in element " + std::to_string(i) + " on rank " +
                   std::to_string(world.rank()));
  }
}

double timed_sum(Communicator& world, AllReduce& reduce, std::span<float> data) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = value_of(world.rank(), i);
  world.barrier();
  const auto begin = std::chrono::steady_clock::now();
  reduce.sum(data, {});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  check(world, data);
  const auto all = all_gather(world, spent.count());
  return *std::max_element(all.begin(), all.end());
}

void print(const Communicator& world, const Options& options, double alpha, double bandwidth,
           const std::vector<double>& seconds) {
  const double bytes = static_cast<double>(options.floats * sizeof(float));
  const double ranks = world.size();
  const double streaming = 2 * (ranks - 1) / ranks * bytes / bandwidth;
  std::printf(
      "{\"ranks\": %d, \"bytes\": %.0f, \"all_reduce\": \"%s\", \"alpha\": %.4e, "
      "\"bandwidth\": %.4e, \"bandwidth_bound\": %.5f, \"bound\": %.5f, \"seconds\": [",
      world.size(), bytes, to_string(options.algorithm), alpha, bandwidth, streaming,
      2 * (ranks - 1) * alpha + streaming);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    std::printf("%s%.5f", i == 0 ? "" : ", ", seconds[i]);
  }
  std::puts("]}");
}

void run(Communicator& world, const std::vector<std::string>& words) {
  Options options;
  HostAdder device;
  together(world, [&] { options = parse(words); });
  ReduceSettings settings;
  settings.algorithm = options.algorithm;
  settings.segment_bytes = options.segment_bytes;
  const auto reduce = make_all_reduce(settings, {world, device, Transport::host});
  HostExchangeBuffer buffer(kPingPongBytes / sizeof(float));
  const LinkSpeed link = ping_pong(world, buffer);
  const double alpha = median(all_gather(world, link.latency_us * 1e-6));
  const double bandwidth = median(all_gather(world, link.gb_per_second * 1e9));
  std::vector<float> data(options.floats);
  timed_sum(world, *reduce, data);  // opens connections
  std::vector<double> seconds;
  for (int i = 0; i < options.repetitions; ++i) {
    seconds.push_back(timed_sum(world, *reduce, data));
  }
  if (world.rank() == 0) print(world, options, alpha, bandwidth, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(ThreadLevel::funneled);
  try {
    Communicator world;
    run(world, {argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "ring_bound: " << error.what() << std::endl;
    session.abort(ExitCode::run_failed);
  }
}
