#include "rueda/reduce/rank_group.hpp"

#include "mpi/session/communicator.hpp"
#include "rueda/core/error.hpp"
#include "tests/support/mpi_check.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

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
  for (int r = 0; right && r < size; ++r) {
    right = gathered[std::size_t(r)] == bytes_of(r);
  }
  return right;
}

}  // namespace

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

TEST_CASE("nothing can be gathered and broadcast", "[rank_group]") {
  Communicator comm;
  const auto gathered = comm.all_gather({});
  CHECK_ON_ALL_RANKS(gathered == std::vector<RankGroup::Bytes>(gathered.size()));
  CHECK_ON_ALL_RANKS(gathered.size() == std::size_t(comm.size()));
  comm.broadcast({}, 0);
  comm.barrier();
}

TEST_CASE("all_gather_text brings every rank's text", "[rank_group]") {
  Communicator comm;
  const auto texts = all_gather_text(comm, text_of(comm.rank()));
  bool right = texts.size() == std::size_t(comm.size());
  for (std::size_t r = 0; right && r < texts.size(); ++r) {
    right = texts[r] == text_of(int(r));
  }
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
