#include "tests/simulation/virtual_job.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/split.hpp"
#include "mpi/sums/hierarchical_all_reduce.hpp"
#include "mpi/sums/pairwise_all_reduce.hpp"
#include "mpi/sums/ring_all_reduce.hpp"
#include "reduce/chosen_all_reduce.hpp"
#include "reduce/reduce_journal.hpp"

namespace rueda::test {
namespace {

std::vector<int> hosts_of(const VirtualMachine& job) {
  std::vector<int> hosts;
  for (int rank = 0; rank < job.ranks; ++rank)
    hosts.push_back(rank / int(job.machine.ranks_per_node));
  return hosts;
}

std::size_t segment_floats(const ReduceWay& way) {
  return pieces(way.segment_bytes, sizeof(float));
}

}  // namespace

VirtualJob::VirtualJob(const VirtualMachine& job)
    : job_(job), layout_(hosts_of(job)), colors_(std::size_t(job.ranks)) {
  std::vector<int> all(std::size_t(job.ranks));
  std::iota(all.begin(), all.end(), 0);
  world_ = std::make_shared<const std::vector<int>>(std::move(all));
}

std::unique_ptr<Exchange> VirtualJob::world(int rank) {
  return std::make_unique<VirtualExchange>(*links_, 0, world_, rank);
}

void VirtualJob::meet(int rank) {
  if (++arrived_ < job_.ranks) {
    cluster_->park();
    return;
  }
  arrived_ = 0;
  const double now = cluster_->now();
  for (int other = 0; other < job_.ranks; ++other)
    if (other != rank) cluster_->wake(other, now);
}

std::unique_ptr<Exchange> VirtualJob::split(int rank, int color) {
  colors_[std::size_t(rank)] = color;
  meet(rank);
  std::vector<int> members;
  for (int other = 0; other < job_.ranks; ++other)
    if (colors_[std::size_t(other)] == color) members.push_back(other);
  meet(rank);  // no rank changes a color that another still reads
  // Ranks that share two splits send each other messages in the same order in both.
  return std::make_unique<VirtualExchange>(
      *links_, 1, std::make_shared<const std::vector<int>>(std::move(members)), rank);
}

std::unique_ptr<AllReduce> VirtualJob::make(const ReduceWay& way, int rank, ReduceDevice& device) {
  const std::size_t segment = segment_floats(way);
  const auto ring = [&device, segment](std::unique_ptr<Exchange> ranks) {
    return std::make_unique<RingAllReduce>(std::move(ranks), device, segment);
  };
  switch (way.algorithm) {
    case Algorithm::ring:
      return ring(world(rank));
    case Algorithm::doubling:
      return make_doubling(world(rank), device);
    case Algorithm::halving:
      return make_halving(world(rank), device);
    case Algorithm::hierarchical:
    case Algorithm::hierarchical_halving: {
      HierarchicalParts parts;
      parts.world = world(rank);
      parts.split = [this, rank](int color) { return split(rank, color); };
      parts.across = ring;
      if (way.algorithm == Algorithm::hierarchical_halving)
        parts.across = [&device](auto ranks) { return make_halving(std::move(ranks), device); };
      parts.segment = segment;
      return std::make_unique<HierarchicalAllReduce>(device, layout_, std::move(parts));
    }
    default:
      throw std::logic_error(std::string(to_string(way.algorithm)) + " is not simulated");
  }
}

VirtualTimes VirtualJob::run(const std::function<void(int rank, VirtualDevice& device)>& body) {
  cluster_.emplace(job_.ranks);
  links_.emplace(*cluster_, job_.machine);
  double last = 0;
  cluster_->run([&](int rank) {
    VirtualDevice device(*links_, job_.memory_is_on_host);
    body(rank, device);
    last = std::max(last, cluster_->now());
  });
  const double ranks = job_.ranks;
  return {last, double(links_->messages()) / ranks, links_->bytes() / ranks};
}

VirtualTimes VirtualJob::sum(const ReduceWay& way, std::size_t bytes) {
  return run([&](int rank, VirtualDevice& device) {
    ReduceJournal journal;
    const auto sum = make(way, rank, device);
    device.wait(sum->sum(VirtualDevice::virtual_floats(bytes / sizeof(float)), {}, journal));
  });
}

VirtualTimes VirtualJob::step(const ReduceTable& table, const VirtualStep& step) {
  return run([&](int rank, VirtualDevice& device) {
    ReduceJournal journal;
    ChosenAllReduce sum(table, [&](const ReduceWay& way) { return make(way, rank, device); });
    const double factor = step.factors.empty() ? 1 : step.factors.at(std::size_t(rank));
    const double forward = step.forward * factor;
    const double backward = step.backward * factor;
    for (const cost::Bucket& bucket : step.buckets) {
      cluster_->wait_until(forward + backward * (step.overlap ? bucket.ready : 1));
      const auto slice = VirtualDevice::virtual_floats(std::size_t(bucket.bytes) / sizeof(float));
      device.wait(sum.sum(slice, {}, journal));
    }
    cluster_->wait_until(forward + backward);
    cluster_->work(step.update);
  });
}

}  // namespace rueda::test
