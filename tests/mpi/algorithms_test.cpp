// The own all-reduces through MPI: that each exchange moves its messages there, in pieces too. What
// they sum at every length and number of ranks is shown on threads, in tests/unit/mpi.
#include <atomic>
#include <chrono>
#include <climits>
#include <random>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "mpi/exchange/mpi_exchange.hpp"
#include "mpi/exchange/staged_exchange.hpp"
#include "mpi/exchange/verified_exchange.hpp"
#include "mpi/sums/mpi_all_reduce.hpp"
#include "mpi/sums/shared_all_reduce.hpp"
#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/mpi_check.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

constexpr std::size_t kNoLimit = INT_MAX;

Place over_mpi(Communicator& comm, ReduceDevice& device) {
  return {
      comm, device, [&comm] { return std::make_unique<MpiExchange>(comm); },
      [&comm](int color) { return std::make_unique<MpiExchange>(comm.split(color, comm.rank())); }};
}

TEST_CASE("every algorithm sums exactly through MPI, above the count limit too", "[algorithms]") {
  for (const std::size_t limit : {std::size_t{7}, kNoLimit}) {
    Communicator comm(MPI_COMM_WORLD, limit);
    for (const ReduceCase& candidate : own_algorithms()) {
      LazyReduceDevice device;
      const auto reduce = candidate.make(over_mpi(comm, device));
      for (const std::size_t length : {1u, 7u, 8u, 101u}) {
        CAPTURE(candidate.name, limit, length);
        CHECK_ON_ALL_RANKS(sums_exactly(*reduce, device, comm, length));
      }
    }
  }
}

TEST_CASE("every algorithm leaves the same bits on all ranks, near MPI_Allreduce's",
          "[algorithms]") {
  Communicator comm;
  HostReduceDevice device;
  MpiAllReduce mpi(std::make_unique<MpiExchange>(comm), device);
  for (const ReduceCase& candidate : own_algorithms()) {
    const auto reduce = candidate.make(over_mpi(comm, device));
    for (const std::size_t length : {13u, 4099u}) {
      if (length > candidate.longest) continue;
      const auto mine = rough_sum(*reduce, device, comm.rank(), length);
      const auto reference = rough_sum(mpi, device, comm.rank(), length);
      CAPTURE(candidate.name, length);
      CHECK_ON_ALL_RANKS(same_bits_on_all_ranks(comm, mine));
      CHECK_ON_ALL_RANKS(close_to(mine, reference, comm.size()));
    }
  }
}

TEST_CASE("every algorithm sums through host memory and with check sums", "[algorithms]") {
  Communicator comm(MPI_COMM_WORLD, 7);
  for (const ReduceCase& candidate : own_algorithms_and_wires()) {
    SlowReduceDevice device(unsigned(comm.rank()) + 5);
    const auto reduce = candidate.make(with(over_mpi(comm, device), [&](ExchangePtr inner) {
      std::vector<std::string> hosts(std::size_t(inner->size()), comm.host());
      return std::make_unique<VerifiedExchange>(
          std::make_unique<StagedExchange>(std::move(inner), device, 20), std::move(hosts), device);
    }));
    CAPTURE(candidate.name);
    CHECK_ON_ALL_RANKS(sums_narrow_values(*reduce, device, comm.size(), 29));
    CHECK_ON_ALL_RANKS(device.pending_events() == 0);
  }
}

TEST_CASE("pieces of messages change no bit of the ring", "[algorithms]") {
  Communicator comm;
  Communicator in_pieces(MPI_COMM_WORLD, 7);
  HostReduceDevice device;
  const auto whole = ring_of(0).make(over_mpi(comm, device));
  const auto pieces = ring_of(0).make(over_mpi(in_pieces, device));
  for (const std::size_t length : {5u, 101u, 203u}) {
    const auto expected = rough_sum(*whole, device, comm.rank(), length);
    CAPTURE(length);
    CHECK_ON_ALL_RANKS(same_bits(expected, rough_sum(*pieces, device, comm.rank(), length)));
  }
}

constexpr std::size_t kArena = 5000;

/// Whether ranks map the memory of each other's devices: one rank has no peer and no arena, and a
/// kernel sums over a limited number.
bool have_peers(const Communicator& comm) {
  return comm.size() > 1 && std::size_t(comm.size()) <= kMostSummed;
}

/// Runs `work` on devices of both kinds of memory: the host's, which is shared by a window, and
/// their own, which ranks map from each other.
template <class Work>
void on_shared_devices(const Communicator& comm, const Work& work) {
  HostReduceDevice host;
  work(host);
  if (!have_peers(comm)) return;
  LazyReduceDevice lazy;
  work(lazy);
}

/// `length` rough values at `offset` of this rank's arena.
std::span<float> filled_slice(SharedAllReduce& reduce, int rank, std::size_t offset,
                              std::size_t length) {
  const auto slice = reduce.arena().subspan(offset, length);
  for (std::size_t i = 0; i < length; ++i) slice[i] = rough_value(rank, i);
  return slice;
}

TEST_CASE("slices of the arena are summed in place, along the tree", "[shared]") {
  Communicator comm;
  on_shared_devices(comm, [&](ReduceDevice& device) {
    SharedAllReduce reduce(comm, device, kArena, 4);
    CHECK_ON_ALL_RANKS(reduce.arena().size() == kArena);
    for (const std::size_t length : {0u, 1u, 4u, 5u, 6u, 13u, 101u, 1024u, 1025u, 4099u}) {
      for (const std::size_t offset : {0u, 1u, 900u}) {
        const auto slice = filled_slice(reduce, comm.rank(), offset, length);
        device.wait(sum_unread(reduce, slice, device.record()));
        CAPTURE(device.memory_is_on_host(), length, offset);
        CHECK_ON_ALL_RANKS(same_bits(slice, serial_trees(comm.size(), length)));
      }
    }
  });
}

TEST_CASE("what lies next to a slice of the arena stays", "[shared]") {
  Communicator comm;
  on_shared_devices(comm, [&](ReduceDevice& device) {
    SharedAllReduce reduce(comm, device, kArena, 4);
    for (float& value : reduce.arena()) value = float(comm.rank() + 1);
    sum_unread(reduce, reduce.arena().subspan(100, 50), {});
    std::size_t touched = 0;
    for (const float value : reduce.arena()) touched += value != float(comm.rank() + 1);
    CAPTURE(device.memory_is_on_host());
    CHECK_ON_ALL_RANKS(touched == (comm.size() > 1 ? 50 : 0));
  });
}

TEST_CASE("slices that lie elsewhere go through mailboxes", "[shared]") {
  Communicator comm;
  on_shared_devices(comm, [&](ReduceDevice& device) {
    for (const std::size_t mailbox : {1u, 7u, 4096u}) {
      SharedAllReduce reduce(comm, device, 0, mailbox);
      for (const std::size_t length : lengths_for(comm.size())) {
        if (length > 5000 || length > 101 * mailbox) continue;
        CAPTURE(device.memory_is_on_host(), mailbox, length);
        CHECK_ON_ALL_RANKS(sums_exactly(reduce, device, comm, length));
        const auto mine = rough_sum(reduce, device, comm.rank(), length);
        CHECK_ON_ALL_RANKS(same_bits(mine, serial_trees(comm.size(), length)));
      }
    }
  });
}

TEST_CASE("the window is as good after many sums, with ranks that are late", "[shared]") {
  Communicator comm;
  on_shared_devices(comm, [&](ReduceDevice& device) {
    SharedAllReduce reduce(comm, device, kArena, 16);
    std::vector<float> elsewhere(11);
    std::minstd_rand random(unsigned(comm.rank()) + 5);
    bool right = true;
    for (int i = 0; i < 300; ++i) {
      // In turns in place and through the mailboxes, which share the count of meetings.
      const std::size_t length = i % 3 == 0 ? 401 : 11;
      if (random() % 16 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      const auto slice =
          i % 3 == 2 ? std::span(elsewhere) : reduce.arena().subspan(std::size_t(i), length);
      for (std::size_t k = 0; k < slice.size(); ++k) slice[k] = whole_value(comm.rank(), k);
      sum_unread(reduce, slice, {});
      for (std::size_t k = 0; k < slice.size(); ++k)
        right = right && slice[k] == whole_sum(comm.size(), k);
    }
    CAPTURE(device.memory_is_on_host());
    CHECK_ON_ALL_RANKS(right);
  });
}

TEST_CASE("a host is crowded where ranks outnumber its cores", "[shared]") {
  Communicator comm;
  const bool crowded = comm.size() > int(std::thread::hardware_concurrency());
  CHECK_ON_ALL_RANKS(SharedWindow(comm, 0).crowded() == crowded);
}

TEST_CASE("ranks that sum different slices are reported", "[shared]") {
  Communicator comm;
  if (comm.size() == 1) return;
  HostReduceDevice device;
  const bool odd = comm.rank() == 1;
  for (const bool in_place : {false, true}) {
    SharedAllReduce reduce(comm, device, kArena, 64);
    const std::size_t length = in_place ? 100 : 10;
    const auto slice = reduce.arena().subspan(odd && in_place ? 1 : 0, length + (odd ? 1 : 0));
    const auto message = message_of<RunError>([&] { sum_unread(reduce, slice, {}); });
    CAPTURE(in_place, message);
    CHECK_ON_ALL_RANKS(contains(message, "the ranks are not at the same step"));
  }
}

TEST_CASE("a rank that waits for a late one says for whom", "[shared]") {
  Communicator comm;
  if (comm.size() == 1) return;
  HostReduceDevice device;
  SharedAllReduce reduce(comm, device, kArena, 16);
  ReduceJournal journal;
  journal.keep_spans(true);
  const int late = comm.size() - 1;
  comm.barrier();
  if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  reduce.sum(reduce.arena().first(100), {}, journal);
  bool waited = false;
  for (const ReduceSpan& span : journal.take_spans())
    waited = waited || (span.act.kind == ReduceAct::Kind::transfer && span.act.from == late);
  CHECK_ON_ALL_RANKS(waited || comm.rank() == late);
  CHECK_ON_ALL_RANKS(journal.take_times().add > 0);
}

/// A device that peers cannot map, or whose memory has no handle, on one rank alone.
class UnsharedDevice final : public QueueingReduceDevice {
 public:
  enum class Fault { none, no_handle, no_mapping, no_memory };
  explicit UnsharedDevice(Fault fault) : fault_(fault) {}

  std::shared_ptr<float[]> make_peer_block(std::size_t count, PeerHandle& handle) override {
    if (fault_ == Fault::no_handle) throw RunError("pool memory");
    if (fault_ == Fault::no_memory) throw OutOfMemory("out of memory");
    return QueueingReduceDevice::make_peer_block(count, handle);
  }
  std::shared_ptr<float[]> map_peer_block(const PeerHandle& theirs) override {
    if (fault_ == Fault::no_mapping) throw RunError("no access");
    return QueueingReduceDevice::map_peer_block(theirs);
  }
  Event record() override { return {}; }
  void wait(Event) override {}

 private:
  void queue(Task task) override { task(); }

  Fault fault_;
};

TEST_CASE("all ranks refuse where one GPU cannot map another's memory", "[shared][many]") {
  using Fault = UnsharedDevice::Fault;
  Communicator comm;
  if (!have_peers(comm)) return;
  const int last = comm.size() - 1;
  const std::string who = "rank " + std::to_string(last) + " (" + comm.host() + "): ";
  const auto refusal = [&](Fault fault) {
    UnsharedDevice device(comm.rank() == last ? fault : Fault::none);
    return std::pair(message_of<InputError>([&] { SharedAllReduce(comm, device, 100); }),
                     message_of<RunError>([&] { SharedAllReduce(comm, device, 100); }));
  };
  for (const auto& [fault, part] :
       {std::pair(Fault::no_handle, "cannot share its own: pool memory"),
        std::pair(Fault::no_mapping, "cannot map that of rank 0: no access")}) {
    const std::string message = refusal(fault).first;
    CAPTURE(message);
    CHECK_ON_ALL_RANKS(message.starts_with(who + "--all-reduce shared"));
    CHECK_ON_ALL_RANKS(contains(message, part));
    CHECK_ON_ALL_RANKS(contains(message, "--gres"));
    CHECK_ON_ALL_RANKS(contains(message, "give --all-reduce ring"));
  }
  CHECK_ON_ALL_RANKS(refusal(Fault::no_memory) == std::pair(std::string(), who + "out of memory"));
  CHECK_ON_ALL_RANKS(refusal(Fault::none) == std::pair(std::string(), std::string()));
}

/// A device that takes a ticket when a block or a mapping of its goes.
class TicketDevice final : public QueueingReduceDevice {
 public:
  explicit TicketDevice(const SharedWindow& window) : next_(window.flag(0).value) {}

  std::shared_ptr<float[]> make_peer_block(std::size_t count, PeerHandle& handle) override {
    return noted(QueueingReduceDevice::make_peer_block(count, handle), freed);
  }
  std::shared_ptr<float[]> map_peer_block(const PeerHandle& theirs) override {
    return noted(QueueingReduceDevice::map_peer_block(theirs), unmapped);
  }
  Event record() override { return {}; }
  void wait(Event) override {}

  std::uint32_t freed = 0;
  std::uint32_t unmapped = 0;  ///< the last

 private:
  void queue(Task task) override { task(); }
  std::shared_ptr<float[]> noted(std::shared_ptr<float[]> block, std::uint32_t& ticket) {
    float* memory = block.get();
    return {memory, [this, &ticket, block = std::move(block)](float*) mutable {
              ticket = ++next_;
              block.reset();
            }};
  }

  std::atomic<std::uint32_t>& next_;  ///< of all ranks
};

TEST_CASE("no rank frees memory that another one still maps", "[shared]") {
  Communicator comm;
  if (!have_peers(comm)) return;
  const SharedWindow window(comm, 0);
  TicketDevice device(window);
  {
    const SharedAllReduce reduce(comm, device, 100);
    if (comm.rank() == comm.size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK_ON_ALL_RANKS(device.unmapped > 0);
  CHECK_ON_ALL_RANKS(max_over_ranks(comm, device.unmapped) < min_over_ranks(comm, device.freed));
}

}  // namespace
