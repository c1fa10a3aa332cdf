#pragma once

#include <cstddef>

#include "machine.hpp"

namespace rueda::predict {

/// Which all-reduce is predicted, as rueda does it (docs/ring.md); `best` takes for each slice the
/// one that the model says is the quickest.
enum class Scheme { ring, hierarchical, doubling, best };
/// The word of the command line.
const char* to_string(Scheme scheme);

/// Seconds of a sum of `bytes` over all ranks, from the moment at which all have begun to the one
/// at which all are done. 0 on one rank. Sources: P. Patarasuk, X. Yuan, *JPDC* 69(2), 2009, for
/// the ring; R. Thakur, R. Rabenseifner, W. Gropp, *IJHPCA* 19(1), 2005, for the model and
/// doubling.

/// 2(P-1) messages of 1/P; the first half is added. All ranks of a ring move in step, so each step
/// takes as long as its slowest link. Only one rank of a node sends to another node.
double ring_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// As HierarchicalAllReduce: reduce-scatter inside each node, rings between ranks of equal place on
/// all nodes, all at the same time, all-gather inside. Nodes are taken to have the same number of
/// ranks. On one level it is the ring.
double hierarchical_seconds(const Machine& machine, std::size_t ranks, double bytes);

/// As DoublingAllReduce, for any number of ranks: the longest chain of messages, each of all bytes.
/// Blocks of ranks that are larger than a node talk between nodes, with all their ranks at once.
double doubling_seconds(const Machine& machine, std::size_t ranks, double bytes);

double all_reduce_seconds(Scheme scheme, const Machine& machine, std::size_t ranks, double bytes);

}  // namespace rueda::predict
