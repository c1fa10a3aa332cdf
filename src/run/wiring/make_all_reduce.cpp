#include "run/wiring/make_all_reduce.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "mpi/exchange/corrupting_exchange.hpp"
#include "mpi/exchange/mpi_exchange.hpp"
#include "mpi/exchange/staged_exchange.hpp"
#include "mpi/exchange/verified_exchange.hpp"
#include "mpi/probes/machine_probe.hpp"
#include "mpi/sums/central_all_reduce.hpp"
#include "mpi/sums/fixed_order_all_reduce.hpp"
#include "mpi/sums/hierarchical_all_reduce.hpp"
#include "mpi/sums/mpi_all_reduce.hpp"
#include "mpi/sums/pairwise_all_reduce.hpp"
#include "mpi/sums/shared_all_reduce.hpp"
#include "mpi/sums/wire_ring_all_reduce.hpp"
#include "reduce/chosen_all_reduce.hpp"
#include "reduce/reduce_table.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/wiring/reduce_rule.hpp"

namespace rueda {
namespace {

/// Makes the ways to sum. Every member is a collective.
class ReduceMaker {
 public:
  ReduceMaker(const ReduceSettings& settings, const ReducePlace& place)
      : settings_(settings),
        place_(place),
        layout_(all_gather(place.world, place.world.node_leader())) {
    if (settings_.fault.kind == InjectedFault::Kind::corrupt_message &&
        settings_.fault.rank == place_.world.rank()) {
      fault_ = std::make_shared<MessageFault>(MessageFault{.train_step = settings_.fault.step});
    }
  }

  std::unique_ptr<AllReduce> make() {
    if (settings_.algorithm != Algorithm::automatic)
      return make_way({settings_.algorithm, segment_bytes()});
    return std::make_unique<ChosenAllReduce>(table(), [this](ReduceWay way) {
      if (settings_.segment_bytes > 0) way.segment_bytes = settings_.segment_bytes;
      return make_way(way);
    });
  }

  /// Of `automatic`: the earlier one, or by costs.
  ReduceTable table() const {
    ReduceSituation here = situation();
    here.may_share = layout_.hosts() == 1 && on_host() && !needs_messages() && has_shared_room();
    if (!settings_.earlier_table.empty()) {
      ReduceTable earlier = parse_reduce_table(settings_.earlier_table);
      earlier.why = "as before the run was resumed";
      if (is_possible(earlier, here)) return earlier;
      log(LogLevel::info, "not bit for bit as without the interruption: --all-reduce auto took " +
                              settings_.earlier_table + ", which is not possible here any more");
    }
    if (place_.world.size() == 1 || auto_candidates(here).size() == 1) return reduce_rule(here, {});
    return by_costs(here);
  }

  /// For advice that nobody asked for: between the devices of one host it would take their memory,
  /// and the ring is nearly always the choice.
  bool is_worth_measuring() const { return on_host() || layout_.hosts() > 1; }

 private:
  /// But for what only a collective tells.
  ReduceSituation situation() const {
    return {.ranks = place_.world.size(),
            .hosts = layout_.hosts(),
            .most_on_a_host = layout_.most(),
            .memory_is_on_host = on_host(),
            .wire = settings_.wire,
            .in_blocks = layout_.in_blocks(),
            .fixed_order = fixed(),
            .keeps_tree = layout_.keeps_tree_order()};
  }

  static bool is_possible(const ReduceTable& table, const ReduceSituation& here) {
    return std::ranges::all_of(table.rows, [&](const ReduceTable::Row& row) {
      if (row.way.algorithm == Algorithm::shared) return here.may_share;
      return here.wire == Wire::fp32 || may_narrow(row.way.algorithm);
    });
  }

  /// Rank 0's, since the last bits of a cost may differ between processors.
  ReduceTable by_costs(const ReduceSituation& here) const {
    const cost::Machine machine =
        measure_machine({.world = place_.world,
                         .device = place_.device,
                         .layout = layout_,
                         .split = [this](int color) { return split_exchange(color); }});
    ReduceTable table = reduce_rule(here, machine);
    table.rows =
        parse_reduce_table(text_of_rank_0(place_.world, [&] { return table_text(table); })).rows;
    return table;
  }

  bool fixed() const { return settings_.order == ReduceOrder::fixed; }
  bool on_host() const { return place_.device.memory_is_on_host(); }

  /// Whether something looks at messages, so that rueda has to send some of its own.
  bool needs_messages() const {
    return settings_.verify_messages ||
           settings_.fault.kind == InjectedFault::Kind::corrupt_message;
  }

  std::unique_ptr<Exchange> exchange() const {
    return exchange_by(std::make_unique<MpiExchange>(place_.world));
  }

  /// Between the ranks that give the same `color`.
  std::unique_ptr<Exchange> split_exchange(int color) const {
    return exchange_by(
        std::make_unique<MpiExchange>(place_.world.split(color, place_.world.rank())));
  }

  /// A fault is injected where it would happen: between the check sum and its comparison.
  std::unique_ptr<Exchange> exchange_by(std::unique_ptr<MpiExchange> mpi) const {
    Communicator& ranks = mpi->ranks();
    std::unique_ptr<Exchange> made = std::move(mpi);
    if (place_.transport == Transport::staged)
      made = std::make_unique<StagedExchange>(std::move(made), place_.device);
    if (fault_) made = std::make_unique<CorruptingExchange>(std::move(made), place_.device, fault_);
    if (!settings_.verify_messages) return made;
    return std::make_unique<VerifiedExchange>(std::move(made), all_gather_text(ranks, ranks.host()),
                                              place_.device);
  }

  /// Of one algorithm for all lengths: the user's, else the usual ones.
  std::size_t segment_bytes() const {
    return settings_.segment_bytes > 0 ? settings_.segment_bytes : usual_segment_bytes(situation());
  }

  /// In floats; 0 stays 0.
  static std::size_t segment_of(const ReduceWay& way) {
    return (way.segment_bytes + sizeof(float) - 1) / sizeof(float);
  }

  std::unique_ptr<AllReduce> make_way(const ReduceWay& way) {
    refuse_wire(way.algorithm);
    if (needs_messages()) refuse_without_messages(way.algorithm);
    switch (way.algorithm) {
      case Algorithm::doubling:
        return make_doubling(exchange(), place_.device);
      case Algorithm::halving:
        return make_by_halving(exchange(), way);
      case Algorithm::central:
        return std::make_unique<CentralAllReduce>(exchange(), place_.device);
      case Algorithm::hierarchical:
      case Algorithm::hierarchical_halving:
        return make_hierarchical(way);
      case Algorithm::shared:
        return make_shared();
      case Algorithm::mpi:
        return std::make_unique<MpiAllReduce>(exchange(), place_.device);
      case Algorithm::nccl:
        return make_nccl(place_.world, place_.device);
      case Algorithm::ring:
      case Algorithm::automatic:
        break;
    }
    return make_ring(exchange(), way);
  }

  void refuse_wire(Algorithm algorithm) const {
    require_agreed(settings_.wire == Wire::fp32 || may_narrow(algorithm),
                   fmt::format("--wire bf16 is for the ring and the hierarchical all-reduce, not "
                               "for {}: leave --wire at fp32",
                               to_string(algorithm)));
  }

  void refuse_without_messages(Algorithm algorithm) const {
    if (is_own(algorithm) && algorithm != Algorithm::shared) return;
    const std::string why = algorithm == Algorithm::shared
                                ? "the ranks of a host read each other's memory, without messages"
                                : "messages are the library's";
    throw_agreed(ExitCode::bad_input,
                 std::string(settings_.verify_messages ? "--verify-messages"
                                                       : "RUEDA_INJECT=corrupt-message") +
                     " is about messages of rueda's own, and with --all-reduce " +
                     to_string(algorithm) + " " + why +
                     ": give --all-reduce ring, doubling, halving or hierarchical");
  }

  std::unique_ptr<AllReduce> make_ring(std::unique_ptr<Exchange> ranks, const ReduceWay& way) {
    if (fixed()) return std::make_unique<FixedOrderAllReduce>(std::move(ranks), place_.device);
    if (settings_.wire == Wire::bf16) {
      return std::make_unique<WireRingAllReduce>(std::move(ranks), place_.device, segment_of(way));
    }
    return std::make_unique<RingAllReduce>(std::move(ranks), place_.device, segment_of(way));
  }

  /// In the fixed order only with numbers of ranks whose fold is a part of the
  /// tree; else each chunk goes straight to its owner.
  std::unique_ptr<AllReduce> make_by_halving(std::unique_ptr<Exchange> ranks,
                                             const ReduceWay& way) {
    if (fixed() && !halving_keeps_tree_order(ranks->size()))
      return make_ring(std::move(ranks), way);
    return make_halving(std::move(ranks), place_.device);
  }

  /// In the fixed order only where hosts are branches of the tree; else each
  /// chunk goes straight to its owner, as --all-reduce ring does in the fixed
  /// order.
  std::unique_ptr<AllReduce> make_hierarchical(const ReduceWay& way) {
    if (fixed() && !layout_.keeps_tree_order()) return make_ring(exchange(), way);
    HierarchicalParts parts;
    parts.world = exchange();
    parts.split = [this](int color) { return split_exchange(color); };
    parts.name = to_string(way.algorithm);
    parts.across = [this, way](std::unique_ptr<Exchange> ranks) {
      if (way.algorithm == Algorithm::hierarchical_halving)
        return make_by_halving(std::move(ranks), way);
      return make_ring(std::move(ranks), way);
    };
    parts.segment = segment_of(way);
    parts.fixed_order = fixed();
    return std::make_unique<HierarchicalAllReduce>(place_.device, layout_, std::move(parts));
  }

  std::size_t window_bytes() const {
    return SharedAllReduce::window_bytes(place_.world.size(), place_.device, place_.arena_floats);
  }

  /// For the rank with the least room: ranks of one host may be in different containers.
  bool has_shared_room() const {
    const bool here = free_shared_memory() >= window_bytes() + window_bytes() / 8;
    return min_over_ranks(place_.world, here);
  }

  std::unique_ptr<AllReduce> make_shared() {
    require_agreed(layout_.hosts() == 1,
                   "--all-reduce shared is for ranks of one host, and these are on " +
                       std::to_string(layout_.hosts()) + ": give --all-reduce ring");
    require_agreed(has_shared_room(),
                   "--all-reduce shared takes " + std::to_string((window_bytes() >> 20) + 1) +
                       " MiB of /dev/shm, which has not that much free: make it larger (docker: "
                       "--shm-size), or give --all-reduce ring");
    return std::make_unique<SharedAllReduce>(place_.world, place_.device, place_.arena_floats);
  }

  ReduceSettings settings_;
  const ReducePlace& place_;
  HostLayout layout_;
  std::shared_ptr<MessageFault> fault_;  ///< of this rank; null: none
};

/// For people: "ring", "ring, fixed order", "auto (shared)", ...
std::string describe_reduce(const ReduceSettings& settings, const AllReduce& made) {
  if (settings.algorithm == Algorithm::mpi) return "MPI_Allreduce";
  if (settings.algorithm == Algorithm::nccl) return "ncclAllReduce";
  std::string text(made.name());
  if (settings.order == ReduceOrder::fixed && text.find("fixed order") == std::string::npos)
    text += ", fixed order";
  return settings.verify_messages ? text + ", messages verified" : text;
}

/// Collective. What sums by messages reaches MPI in one of several ways; NCCL
/// and GPUs that read each other's memory know none of them.
TransportDecision transport_of(Communicator& world, const TrainConfig& config,
                               const ReduceDevice& device) {
  const TransportDecision decision = agree_on_transport(world, config.sums.transport, device);
  const bool messages =
      config.sums.algorithm != Algorithm::nccl && config.sums.algorithm != Algorithm::shared;
  if (messages || device.memory_is_on_host()) return decision;
  return {Transport::device, ""};
}

/// Collective: what `auto` would take for the longest bucket, where that is
/// another algorithm than the ring and its order of additions was not asked
/// for.
std::string other_choice(const ReduceSettings& settings, const ReducePlace& place,
                         const std::vector<std::size_t>& ends) {
  if (settings.algorithm != Algorithm::ring || settings.order == ReduceOrder::fixed) return "";
  const ReduceMaker maker(settings, place);
  if (!maker.is_worth_measuring()) return "";
  const std::size_t longest = std::ranges::max(sizes_of_buckets(ends));
  const Algorithm chosen = maker.table().way(longest).algorithm;
  if (chosen == Algorithm::ring) return "";
  return to_string(chosen);
}

/// Until sizes are measured there is one bucket, whose sum takes the most memory.
double first_bucket_mb(const TrainConfig& config, bool measured) {
  if (config.sums.bucket_mb != kAutoBucketMb) return config.sums.bucket_mb;
  return measured ? 0 : TrainConfig().sums.bucket_mb;
}

}  // namespace

ReduceSettings reduce_settings(const TrainConfig& config) {
  return {.algorithm = config.sums.algorithm,
          .order = config.sums.order,
          .segment_bytes = config.sums.segment_kb * 1024,
          .wire = config.sums.wire,
          .verify_messages = config.checks.verify_messages,
          .fault = config.checks.fault};
}

std::unique_ptr<AllReduce> make_all_reduce(const ReduceSettings& settings,
                                           const ReducePlace& place) {
  return ReduceMaker(settings, place).make();
}

void cut_buckets(GradientSums& sums, double mb, const TrainConfig& config, const Graph& graph,
                 int ranks) {
  sums.bucket_mb = mb;
  sums.bucket_ends = plan_buckets(graph, {.most_bytes = bucket_limit(mb),
                                          .tail_apart = config.sums.wire != Wire::fp32,
                                          .ranks = std::size_t(ranks)});
}

std::vector<std::size_t> sizes_of_buckets(const std::vector<std::size_t>& ends) {
  std::vector<std::size_t> bytes;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    bytes.push_back((end - begin) * sizeof(float));
    begin = end;
  }
  return bytes;
}

GradientSums open_gradient_sums(Communicator& world, const TrainConfig& config, bool measured,
                                const Graph& graph, Backend& backend,
                                const std::string& earlier_table) {
  GradientSums sums;
  cut_buckets(sums, first_bucket_mb(config, measured), config, graph, world.size());
  ReduceDevice& device = backend.reduce_device();
  const TransportDecision decision = transport_of(world, config, device);
  log(LogLevel::warn, decision.warning);
  sums.transport = decision.transport;
  ReduceSettings settings = reduce_settings(config);
  settings.earlier_table = earlier_table;
  const ReducePlace place{world, device, decision.transport,
                          GradientLayout(graph, std::size_t(world.size())).memory()};
  sums.all_reduce = make_all_reduce(settings, place);
  sums.table = sums.all_reduce->table();
  sums.name = describe_reduce(settings, *sums.all_reduce);
  if (!measured) sums.other_choice = other_choice(settings, place, sums.bucket_ends);
  return sums;
}

}  // namespace rueda
