#pragma once

#include <string>

#include <catch2/catch.hpp>
#include <mpi.h>

namespace rueda::test {

/// Whether `mine` holds on every rank; collective over the world. A rank that leaves a test case
/// early leaves the others in a collective, so tests agree first and assert the agreement.
inline bool on_all_ranks(bool mine) {
  int value = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return value != 0;
}

/// Checks on every rank that `condition` holds on all of them; the report says which ranks broke
/// it.
#define CHECK_ON_ALL_RANKS(condition)                                        \
  do {                                                                       \
    const bool holds_here = static_cast<bool>(condition);                    \
    INFO(#condition << (holds_here ? "  (holds here)" : "  (broken here)")); \
    const bool holds_on_all_ranks = rueda::test::on_all_ranks(holds_here);   \
    CHECK(holds_on_all_ranks);                                               \
  } while (false)

/// The message of what `work` throws as an `Expected`; empty if it throws nothing or something
/// else. For work that fails alike on every rank, or that contains no collective.
template <class Expected, class Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const Expected& error) {
    return error.what();
  } catch (...) {
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace rueda::test
