#include "mpi/session/communicator.hpp"

#include <bit>
#include <cmath>
#include <set>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "mpi/session/clock_tree.hpp"
#include "mpi/session/mpi_call.hpp"
#include "mpi/session/session.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "tests/support/mpi_check.hpp"
#include "tests/support/mpi_spy.hpp"
#include "tests/support/values.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

/// How many floats `rank` sends to its right neighbour: another number for every rank, 0 for one.
std::size_t sent_length(int rank) { return std::size_t(rank) * 11; }

/// Sends round the ring with lengths that differ each way; whether everything arrived, and nothing
/// was written beyond it.
bool arrives(Communicator& comm) {
  const int left = (comm.rank() + comm.size() - 1) % comm.size();
  const int right = (comm.rank() + 1) % comm.size();
  const auto send = filled<whole_value>(comm.rank(), sent_length(comm.rank()));
  std::vector<float> receive(sent_length(left) + 1, -1.0f);
  comm.sendrecv(send, right, std::span(receive).first(sent_length(left)), left);
  auto expected = filled<whole_value>(left, sent_length(left));
  expected.push_back(-1.0f);
  return same_bits(receive, expected);
}

TEST_CASE("a communicator knows its ranks and its node", "[communicator]") {
  Communicator comm;
  int rank = -1;
  int size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_ON_ALL_RANKS(comm.rank() == rank);
  CHECK_ON_ALL_RANKS(comm.size() == size);
  std::set<int> local_ranks;
  int on_my_host = 0;
  const auto hosts = all_gather_text(comm, comm.host());
  const auto locals = all_gather_text(comm, std::to_string(comm.local_rank()));
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    if (hosts[r] != comm.host()) continue;
    ++on_my_host;
    local_ranks.insert(std::stoi(locals[r]));
  }
  CHECK_ON_ALL_RANKS(comm.local_size() == on_my_host);
  CHECK_ON_ALL_RANKS(int(local_ranks.size()) == on_my_host);
  CHECK_ON_ALL_RANKS(*local_ranks.begin() == 0);
  CHECK_ON_ALL_RANKS(*local_ranks.rbegin() == on_my_host - 1);
}

TEST_CASE("sendrecv moves different lengths each way, in pieces too", "[communicator]") {
  for (const std::size_t limit : {1u, 7u, 11u, 12u, 1000000u}) {
    Communicator comm(MPI_COMM_WORLD, limit);
    CAPTURE(limit);
    CHECK_ON_ALL_RANKS(arrives(comm));
  }
}

TEST_CASE("all_reduce_sum sums, in pieces too", "[communicator]") {
  for (const std::size_t limit : {7u, 1000000u}) {
    Communicator comm(MPI_COMM_WORLD, limit);
    auto data = filled<whole_value>(comm.rank(), 100);
    comm.all_reduce_sum(data);
    bool exact = true;
    for (std::size_t i = 0; i < data.size(); ++i) exact &= data[i] == whole_sum(comm.size(), i);
    CAPTURE(limit);
    CHECK_ON_ALL_RANKS(exact);
  }
}

TEST_CASE("a peer that does not exist is an error that names call and rank", "[communicator]") {
  Communicator comm;
  std::vector<float> data(3);
  const auto message =
      message_of<RunError>([&] { comm.sendrecv(data, comm.size() + 3, {}, comm.rank()); });
  CHECK_ON_ALL_RANKS(
      contains(message, "MPI_Sendrecv failed on rank " + std::to_string(comm.rank()) + ": "));
  CHECK_ON_ALL_RANKS(contains(message, "rank"));
}

TEST_CASE("a message of another length is an error", "[communicator]") {
  Communicator comm;
  const int left = (comm.rank() + comm.size() - 1) % comm.size();
  const int right = (comm.rank() + 1) % comm.size();
  const std::vector<float> send(3);
  std::vector<float> receive(8);
  const auto shorter =
      message_of<RunError>([&] { comm.sendrecv(send, right, std::span(receive).first(5), left); });
  CHECK_ON_ALL_RANKS(
      contains(shorter, "expected 5 floats from rank " + std::to_string(left) + " but got 3"));
  const auto longer =
      message_of<RunError>([&] { comm.sendrecv(send, right, std::span(receive).first(2), left); });
  // (Open MPI cuts a message to oneself without a word; the program sends none.)
  CHECK_ON_ALL_RANKS(comm.size() == 1 || contains(longer, "MPI_Sendrecv failed"));
}

TEST_CASE("a communicator moves by exchange", "[communicator]") {
  Communicator first(MPI_COMM_WORLD, 7);
  Communicator second(std::move(first));
  CHECK_ON_ALL_RANKS(arrives(second));
  Communicator third(MPI_COMM_WORLD);
  third = std::move(second);
  CHECK_ON_ALL_RANKS(arrives(third));
}

TEST_CASE("two communicators do not take each other's messages", "[communicator]") {
  Communicator one;
  Communicator two;
  const int left = (one.rank() + one.size() - 1) % one.size();
  const int right = (one.rank() + 1) % one.size();
  const std::vector<float> a(1, 1.0f);
  const std::vector<float> b(1, 2.0f);
  float from_one = 0;
  float from_two = 0;
  one.sendrecv(a, right, {}, MPI_PROC_NULL);  // sent on `one` before anything on `two`
  two.sendrecv(b, right, std::span(&from_two, 1), left);
  one.sendrecv({}, MPI_PROC_NULL, std::span(&from_one, 1), left);
  CHECK_ON_ALL_RANKS(from_one == 1.0f);
  CHECK_ON_ALL_RANKS(from_two == 2.0f);
}

TEST_CASE("the MPI library names itself in one line", "[communicator]") {
  const auto version = mpi_library_version();
  CHECK_ON_ALL_RANKS(!version.empty());
  CHECK_ON_ALL_RANKS(!contains(version, "\n"));
}

/// A text of another length for every rank; none from rank 0.
std::string text_of(int rank) {
  std::string text;
  for (int i = 0; i < 5 * rank; ++i) text += char('a' + (rank + i) % 26);
  return text;
}

RankGroup::Bytes bytes_of(int rank) {
  const auto text = text_of(rank);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

bool all_in_rank_order(const std::vector<RankGroup::Bytes>& gathered, int size) {
  bool right = gathered.size() == std::size_t(size);
  for (int r = 0; right && r < size; ++r) right = gathered[std::size_t(r)] == bytes_of(r);
  return right;
}

TEST_CASE("broadcast gives everybody the root's bytes", "[rank_group]") {
  for (const std::size_t limit : {7u, 1000000u}) {
    Communicator comm(MPI_COMM_WORLD, limit);
    for (int root = 0; root < comm.size(); ++root) {
      std::vector<std::byte> data(40, std::byte(comm.rank() + 1));
      comm.broadcast(data, root);
      CAPTURE(limit, root);
      CHECK_ON_ALL_RANKS(data == std::vector<std::byte>(40, std::byte(root + 1)));
    }
  }
}

TEST_CASE("all_gather and gather keep rank order and lengths", "[rank_group]") {
  for (const std::size_t limit : {1u, 7u, 20u, 1000000u}) {
    Communicator comm(MPI_COMM_WORLD, limit);
    CAPTURE(limit);
    CHECK_ON_ALL_RANKS(all_in_rank_order(comm.all_gather(bytes_of(comm.rank())), comm.size()));
    for (int root = 0; root < comm.size(); ++root) {
      const auto gathered = comm.gather(bytes_of(comm.rank()), root);
      CAPTURE(root);
      CHECK_ON_ALL_RANKS(comm.rank() == root ? all_in_rank_order(gathered, comm.size())
                                             : gathered.empty());
    }
  }
}

TEST_CASE("nothing can be gathered and broadcast, and the text of every rank", "[rank_group]") {
  Communicator comm;
  const auto gathered = comm.all_gather({});
  CHECK_ON_ALL_RANKS(gathered == std::vector<RankGroup::Bytes>(gathered.size()));
  CHECK_ON_ALL_RANKS(gathered.size() == std::size_t(comm.size()));
  comm.broadcast({}, 0);
  comm.barrier();
  const auto texts = all_gather_text(comm, text_of(comm.rank()));
  bool right = texts.size() == std::size_t(comm.size());
  for (std::size_t r = 0; right && r < texts.size(); ++r) right = texts[r] == text_of(int(r));
  CHECK_ON_ALL_RANKS(right);
}

TEST_CASE("a rank that fails alone stops all with its own words", "[rank_group]") {
  Communicator comm;
  const int last = comm.size() - 1;
  const auto message = message_of<InputError>([&] {
    together(comm, [&] {
      if (comm.rank() == last) throw InputError("label 77 at offset 3073");
    });
  });
  const std::string who = "rank " + std::to_string(last) + " (" + comm.host() + "): ";
  CHECK_ON_ALL_RANKS(message == (comm.size() == 1 ? "" : who) + "label 77 at offset 3073");
  comm.barrier();  // the group is still usable
}

TEST_CASE("ranks of another version are refused by all", "[rank_group]") {
  Communicator comm;
  const bool differs = comm.size() > 1 && comm.rank() == comm.size() - 1;
  const auto message = message_of<InputError>(
      [&] { require_same(comm, "the version", differs ? "rueda 0.2" : "rueda 0.1"); });
  CHECK_ON_ALL_RANKS(message.empty() == (comm.size() == 1));
  CHECK_ON_ALL_RANKS(comm.size() == 1 || contains(message, "has 'rueda 0.2'"));
}

/// What `work` throws on another thread; empty: nothing.
template <class Work>
std::string failure_elsewhere(Work work) {
  std::string failure;
  std::thread([&] {
    try {
      work();
    } catch (const RunError& error) {
      failure = error.what();
    }
  }).join();
  return failure;
}

TEST_CASE("MPI is called by one thread at a time") {
  Communicator world;
  std::string failure = failure_elsewhere([&] { world.barrier(); });
  CHECK_ON_ALL_RANKS(failure.find("MPI_Barrier") == 0);
  failure = failure_elsewhere([] { take_mpi_turn(); });
  CHECK_ON_ALL_RANKS(!failure.empty());
  give_mpi_turn();
  failure = failure_elsewhere([&] {
    take_mpi_turn();
    world.barrier();
    give_mpi_turn();
  });
  take_mpi_turn();
  CHECK_ON_ALL_RANKS(failure.empty());
  take_mpi_turn();  // twice does no harm
  world.barrier();
}

TEST_CASE("the call that a thread is inside of is known while it lasts") {
  CHECK_ON_ALL_RANKS(mpi_call_now().name == nullptr);
  {
    const MpiCall call("MPI_Something");
    CHECK_ON_ALL_RANKS(mpi_call_now().name == std::string("MPI_Something"));
    CHECK_ON_ALL_RANKS(mpi_call_now().since <= std::chrono::steady_clock::now());
  }
  CHECK_ON_ALL_RANKS(mpi_call_now().name == nullptr);
}

TEST_CASE("clocks of ranks on one machine agree within the error that is given") {
  Communicator world;
  const ClockOffset offset = world.clock_offset();
  CHECK_ON_ALL_RANKS(offset.error >= 0);
  CHECK_ON_ALL_RANKS(std::abs(offset.seconds) <= offset.error);
  CHECK_ON_ALL_RANKS(world.rank() > 0 || offset.error == 0);
}

TEST_CASE("clocks that are hours apart are told within the error that is given") {
  Communicator world;
  const double ahead = 3600.0 * world.rank() * (world.rank() % 2 == 0 ? 1 : -1);
  const ClockOffset offset = compare_clocks(world, [ahead] { return ahead + steady_seconds(); });
  CHECK_ON_ALL_RANKS(std::abs(offset.seconds + ahead) <= offset.error + 1e-9);
  CHECK_ON_ALL_RANKS(offset.error < 60);
}

TEST_CASE("a rank compares clocks by four round trips for each doubling of ranks at most") {
  Communicator world;
  std::size_t messages = 0;  // that this rank sends or receives
  const auto count = [&messages](const void*) { return ++messages > 0; };
  {
    const MpiSpy spy(count);
    world.clock_offset();
  }
  const auto most = 8 * std::size_t(std::bit_width(unsigned(world.size() - 1)));
  CHECK_ON_ALL_RANKS(messages <= most);
  CHECK_ON_ALL_RANKS(world.rank() > 0 || messages == most);
  CHECK_ON_ALL_RANKS(world.size() == 1 || messages >= 8);
}

TEST_CASE("parts of a group know their ranks in the world") {
  Communicator world;
  const Communicator part = world.split(world.rank() % 2, -world.rank());
  CHECK_ON_ALL_RANKS(part.size() == (world.size() + 1 - world.rank() % 2) / 2);
  CHECK_ON_ALL_RANKS(part.world_rank(part.rank()) == world.rank());
  // In the order of the key: the last first.
  CHECK_ON_ALL_RANKS(part.rank() == 0 || part.world_rank(part.rank() - 1) == world.rank() + 2);
}

}  // namespace
