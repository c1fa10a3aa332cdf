#include "mpi/session/communicator.hpp"

#include <set>
#include <utility>

#include "mpi/session/session.hpp"
#include "rueda/core/error.hpp"
#include "tests/support/mpi_check.hpp"
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

}  // namespace

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
