#include "mpi/session/communicator.hpp"

#include <cstdint>
#include <numeric>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/split.hpp"
#include "mpi/session/clock_tree.hpp"
#include "mpi/session/mpi_call.hpp"

namespace rueda {
namespace {

constexpr int kTag = 0;  // MPI keeps messages of one sender in order, so one tag is enough

/// What each rank contributes to one round of a gather, in the form that MPI takes.
struct Round {
  std::vector<int> counts;
  std::vector<int> offsets;
  std::size_t total = 0;

  Round(const std::vector<std::uint64_t>& lengths, std::size_t limit, std::size_t index) {
    for (const std::size_t length : lengths) {
      const std::size_t count = std::min(limit, length - std::min(length, index * limit));
      counts.push_back(int(count));
      offsets.push_back(int(total));
      total += count;
    }
  }
};

void append(std::vector<RankGroup::Bytes>& to, const Round& round, const RankGroup::Bytes& from) {
  for (std::size_t r = 0; r < to.size(); ++r) {
    const auto begin = from.begin() + round.offsets[r];
    to[r].insert(to[r].end(), begin, begin + round.counts[r]);
  }
}

}  // namespace

Communicator::Communicator(MPI_Comm origin, std::size_t max_count)
    : comm_(new MPI_Comm(MPI_COMM_NULL)),
      max_count_(std::clamp<std::size_t>(max_count, 1, INT_MAX)),
      host_(host_name()) {
  call_mpi("MPI_Comm_dup", MPI_Comm_dup, origin, comm_.get());
  check(MPI_Comm_set_errhandler(*comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(*comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(*comm_, &size_), "MPI_Comm_size");
  note_node();
  note_world_ranks();
}

Communicator Communicator::split(int color, int key) const {
  MPI_Comm part = MPI_COMM_NULL;
  call_mpi("MPI_Comm_split", MPI_Comm_split, *comm_, color, key, &part);
  Communicator group(part, max_count_);
  check(MPI_Comm_free(&part), "MPI_Comm_free");
  return group;
}

void Communicator::note_node() {
  MPI_Comm node = MPI_COMM_NULL;
  call_mpi("MPI_Comm_split_type", MPI_Comm_split_type, *comm_, MPI_COMM_TYPE_SHARED, rank_,
           MPI_INFO_NULL, &node);
  check(MPI_Comm_rank(node, &local_rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(node, &local_size_), "MPI_Comm_size");
  node_leader_ = rank_;
  call_mpi("MPI_Bcast", MPI_Bcast, &node_leader_, 1, MPI_INT, 0, node);
  call_mpi("MPI_Comm_free", MPI_Comm_free, &node);
}

/// Asks no other rank.
void Communicator::note_world_ranks() {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group mine = MPI_GROUP_NULL;
  check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check(MPI_Comm_group(*comm_, &mine), "MPI_Comm_group");
  std::vector<int> ranks(static_cast<std::size_t>(size_));
  std::iota(ranks.begin(), ranks.end(), 0);
  world_ranks_.resize(ranks.size());
  check(MPI_Group_translate_ranks(mine, size_, ranks.data(), world, world_ranks_.data()),
        "MPI_Group_translate_ranks");
  check(MPI_Group_free(&mine), "MPI_Group_free");
  check(MPI_Group_free(&world), "MPI_Group_free");
}

void Communicator::Free::operator()(MPI_Comm* comm) const noexcept {
  if (*comm != MPI_COMM_NULL && mpi_is_active()) MPI_Comm_free(comm);
  delete comm;
}

void Communicator::sendrecv(std::span<const float> send, int to, std::span<float> receive,
                            int from) {
  const std::size_t sends = pieces(send.size(), max_count_);
  const std::size_t receives = pieces(receive.size(), max_count_);
  for (std::size_t i = 0; i < std::max(sends, receives); ++i) {
    const auto out = piece(send, max_count_, i);
    const auto in = piece(receive, max_count_, i);
    if (i == sends) to = MPI_PROC_NULL;
    if (i == receives) from = MPI_PROC_NULL;
    MPI_Status status{};
    {
      const MpiCall call("MPI_Sendrecv");
      check(MPI_Sendrecv(out.data(), int(out.size()), MPI_FLOAT, to, kTag, in.data(),
                         int(in.size()), MPI_FLOAT, from, kTag, *comm_, &status),
            "MPI_Sendrecv");
    }
    int count = 0;
    check(MPI_Get_count(&status, MPI_FLOAT, &count), "MPI_Get_count");
    if (std::size_t(count) != in.size()) {
      throw RunError(fmt::format(
          "rank {} expected {} floats from rank {} but got {}: the ranks are not at the same step",
          rank_, in.size(), from, count));
    }
  }
}

void Communicator::all_reduce_sum(std::span<float> data) {
  for (std::size_t i = 0; i < pieces(data.size(), max_count_); ++i) {
    const auto part = piece(data, max_count_, i);
    call_mpi("MPI_Allreduce", MPI_Allreduce, MPI_IN_PLACE, part.data(), int(part.size()), MPI_FLOAT,
             MPI_SUM, *comm_);
  }
}

void Communicator::barrier() { call_mpi("MPI_Barrier", MPI_Barrier, *comm_); }

void Communicator::broadcast(std::span<std::byte> data, int root) {
  for (std::size_t i = 0; i < pieces(data.size(), max_count_); ++i) {
    const auto part = piece(data, max_count_, i);
    call_mpi("MPI_Bcast", MPI_Bcast, part.data(), int(part.size()), MPI_BYTE, root, *comm_);
  }
}

/// MPI's offsets are ints into one buffer, so the *sum* over ranks must stay
/// below the limit: each round takes an equal small part from every rank.
/// Almost always one round is enough.
std::vector<RankGroup::Bytes> Communicator::collect(std::span<const std::byte> mine, int root) {
  const auto ranks = std::size_t(size_);
  const std::size_t limit = std::max<std::size_t>(1, max_count_ / ranks);
  const bool receives = root == kEveryRank || root == rank_;
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(ranks);
  call_mpi("MPI_Allgather", MPI_Allgather, &length, 1, MPI_UINT64_T, lengths.data(), 1,
           MPI_UINT64_T, *comm_);
  const std::size_t rounds = pieces(std::ranges::max(lengths), limit);
  std::vector<Bytes> result;
  if (receives) result.resize(ranks);
  for (std::size_t i = 0; i < rounds; ++i) {
    const Round round(lengths, limit, i);
    const auto part = piece(mine, limit, i);
    const int count = int(part.size());
    Bytes buffer;
    if (receives) buffer.resize(round.total);
    if (root == kEveryRank) {
      call_mpi("MPI_Allgatherv", MPI_Allgatherv, part.data(), count, MPI_BYTE, buffer.data(),
               round.counts.data(), round.offsets.data(), MPI_BYTE, *comm_);
    } else {
      call_mpi("MPI_Gatherv", MPI_Gatherv, part.data(), count, MPI_BYTE, buffer.data(),
               round.counts.data(), round.offsets.data(), MPI_BYTE, root, *comm_);
    }
    append(result, round, buffer);
  }
  return result;
}

ClockOffset Communicator::clock_offset() {
  return compare_clocks(*this, [] { return steady_seconds(); });
}

}  // namespace rueda
