#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "reduce/cost_model.hpp"
#include "rueda/reduce/exchange.hpp"
#include "rueda/reduce/reduce_device.hpp"
#include "tests/simulation/virtual_cluster.hpp"

namespace rueda::test {

/// The links of a virtual cluster, with the costs of cost::Machine: a message of n bytes takes
/// alpha + n beta from the moment at which both its ranks are ready; who sends does not wait for
/// who receives. Messages that leave a node share its links, in the order in which they begin.
class VirtualLinks {
 public:
  VirtualLinks(VirtualCluster& cluster, const cost::Machine& machine);

  /// Messages of one space do not meet those of another.
  struct Way {
    int space = 0;
    int from = 0;
    int to = 0;
  };
  /// A message of the rank that runs; when it has left.
  double send(const Way& way, std::size_t floats);
  /// When it has arrived, a message of so many floats. Waits for it. Throws RunError for another
  /// length.
  double receive(const Way& way, std::size_t floats);

  VirtualCluster& cluster() { return cluster_; }
  const cost::Machine& machine() const { return machine_; }
  int node_of(int rank) const { return rank / int(machine_.ranks_per_node); }
  /// Bytes and messages that have been sent.
  double bytes() const { return bytes_; }
  std::size_t messages() const { return messages_; }

 private:
  struct Message {
    std::size_t floats = 0;
    double ready = 0;    ///< when its sender was
    double arrives = 0;  ///< at the earliest
    double seconds = 0;
  };
  struct Box {
    std::deque<Message> messages;
    bool awaited = false;
  };
  Box& box_of(const Way& way);
  /// When a link of the node is free for a message, which then takes it for `seconds`.
  double take_link(int node, double seconds);

  VirtualCluster& cluster_;
  const cost::Machine machine_;
  std::unordered_map<std::uint64_t, Box> boxes_;
  std::vector<std::vector<double>> free_at_;  ///< by node and link
  double bytes_ = 0;
  std::size_t messages_ = 0;
};

/// Some ranks of a virtual cluster. Messages have a length and no content, so memory is never
/// read: spans may be of any address.
class VirtualExchange final : public Exchange {
 public:
  using Members = std::shared_ptr<const std::vector<int>>;  ///< ranks of the cluster, ascending
  /// Of `rank` of the cluster, which is one of `members`.
  VirtualExchange(VirtualLinks& links, int space, Members members, int rank);

  int rank() const override { return rank_; }
  int size() const override { return int(members_->size()); }
  int world_rank(int rank) const override { return members_->at(std::size_t(rank)); }
  void sendrecv(const Outgoing& send, const Incoming& receive, const ReduceJournal&) override {
    sendrecv_host(send.floats, send.to, receive.floats, receive.from);
  }
  void sendrecv_host(std::span<const float> send, int to, std::span<float> receive,
                     int from) override;
  /// Throws std::logic_error: it is MPI's own.
  void all_reduce_sum(std::span<float> data) override;

 private:
  VirtualLinks& links_;
  int space_;
  Members members_;
  int rank_ = 0;
};

/// A device of a virtual rank: an addition of n bytes takes n gamma. On the host's memory the rank
/// adds itself; else the device adds while the rank goes on.
class VirtualDevice final : public ReduceDevice {
 public:
  VirtualDevice(VirtualLinks& links, bool memory_is_on_host)
      : cluster_(links.cluster()), gamma_(links.machine().gamma), on_host_(memory_is_on_host) {}

  void add(std::span<float> into, std::span<const float> from) override;
  void copy(std::span<float>, std::span<const float>) override {}
  void narrow(std::span<kernels::Bfloat16>, std::span<const float>) override {}
  void add_narrow(std::span<float>, std::span<const kernels::Bfloat16>) override {}
  void widen(std::span<float>, std::span<const kernels::Bfloat16>) override {}
  Event record() override;
  void wait(Event event) override;
  std::span<float> scratch(std::size_t count) override { return virtual_floats(count); }
  bool memory_is_on_host() const override { return on_host_; }
  std::span<float> host_scratch(std::size_t count) override { return virtual_floats(count); }

  /// Addresses of which nobody reads or writes the memory.
  static std::span<float> virtual_floats(std::size_t count);

 private:
  VirtualCluster& cluster_;
  double gamma_;
  bool on_host_;
  double done_at_ = 0;  ///< when the device has done all that is queued
};

}  // namespace rueda::test
