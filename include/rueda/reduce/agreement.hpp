#pragma once

#include <string>

#include "rank_group.hpp"

namespace rueda {

/// Collective: refuses ranks that do not carry the same `text` (a version, a configuration in a
/// canonical form of one fact a line). Then every rank throws the same InputError, which names the
/// first rank that differs from rank 0, its host, and the first line that differs, both ways.
/// `what` is the subject in the message, for example "the configuration".
void require_same(RankGroup& group, const std::string& what, const std::string& text);

}  // namespace rueda
