#include "tests/simulation/virtual_links.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/mman.h>

#include "base/error.hpp"

namespace rueda::test {
namespace {

double bytes_of(std::size_t floats) { return double(floats * sizeof(float)); }

}  // namespace

VirtualLinks::VirtualLinks(VirtualCluster& cluster, const cost::Machine& machine)
    : cluster_(cluster), machine_(machine) {
  const int nodes = node_of(cluster.size() - 1) + 1;
  free_at_.assign(std::size_t(nodes), std::vector<double>(machine.links_per_node, 0.0));
}

double VirtualLinks::take_link(int node, double seconds) {
  auto& links = free_at_[std::size_t(node)];
  const auto first = std::ranges::min_element(links);
  const double begin = std::max(*first, cluster_.now());
  *first = begin + seconds;
  return begin;
}

VirtualLinks::Box& VirtualLinks::box_of(const Way& way) {
  constexpr unsigned kRankBits = 20;
  const auto space = std::uint64_t(way.space) << 2 * kRankBits;
  return boxes_[space | std::uint64_t(way.from) << kRankBits | std::uint64_t(way.to)];
}

double VirtualLinks::send(const Way& way, std::size_t floats) {
  const double bytes = bytes_of(floats);
  const bool leaves = node_of(way.from) != node_of(way.to);
  const cost::Link& link = leaves ? machine_.between : machine_.inside;
  const double begin = leaves ? take_link(node_of(way.from), bytes * link.beta) : cluster_.now();
  const double seconds = link.message_seconds(bytes);
  bytes_ += bytes;
  ++messages_;
  Box& box = box_of(way);
  box.messages.push_back({floats, begin, begin + seconds, seconds});
  if (std::exchange(box.awaited, false)) cluster_.wake(way.to, begin);
  return begin + seconds;
}

double VirtualLinks::receive(const Way& way, std::size_t floats) {
  const double ready = cluster_.now();
  Box& box = box_of(way);
  while (box.messages.empty()) {
    box.awaited = true;
    cluster_.park();
  }
  const Message message = box.messages.front();
  box.messages.pop_front();
  if (message.floats != floats) {
    throw RunError("expected " + std::to_string(floats) + " floats and got " +
                   std::to_string(message.floats));
  }
  return std::max(message.arrives, ready + message.seconds);
}

VirtualExchange::VirtualExchange(VirtualLinks& links, int space, Members members, int rank)
    : links_(links), space_(space), members_(std::move(members)) {
  rank_ = int(std::ranges::lower_bound(*members_, rank) - members_->begin());
  if (world_rank(rank_) != rank) throw std::logic_error("a rank that is no member");
}

void VirtualExchange::sendrecv_host(std::span<const float> send, int to, std::span<float> receive,
                                    int from) {
  const int mine = world_rank(rank_);
  double ends = links_.cluster().now();
  if (!send.empty()) ends = links_.send({space_, mine, world_rank(to)}, send.size());
  if (!receive.empty()) {
    const double arrives = links_.receive({space_, world_rank(from), mine}, receive.size());
    ends = std::max(ends, arrives);
  }
  links_.cluster().wait_until(ends);
}

void VirtualExchange::all_reduce_sum(std::span<float>) {
  throw std::logic_error("MPI_Allreduce is not simulated");
}

void VirtualDevice::add(std::span<float> into, std::span<const float>) {
  const double seconds = bytes_of(into.size()) * gamma_;
  if (on_host_) {
    cluster_.work(seconds);
    return;
  }
  done_at_ = std::max(done_at_, cluster_.now()) + seconds;
}

/// An event's number is the moment at which it passes; 0 has always passed.
Event VirtualDevice::record() {
  if (on_host_) return {};
  return {std::bit_cast<std::uint64_t>(done_at_)};
}

void VirtualDevice::wait(Event event) {
  if (event.id > 0) cluster_.wait_until(std::bit_cast<double>(event.id));
}

std::span<float> VirtualDevice::virtual_floats(std::size_t count) {
  constexpr std::size_t kMost = std::size_t{1} << 40U;
  static float* const memory = [] {
    void* mapped =
        mmap(nullptr, kMost, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw RunError("no addresses for virtual memory");
    return static_cast<float*>(mapped);
  }();
  if (count > kMost / sizeof(float)) throw std::out_of_range("more than 1 TiB of virtual memory");
  return {memory, count};
}

}  // namespace rueda::test
