#pragma once

namespace rueda {

/// How ranks share the data set. `step`: each takes its contiguous part of
/// every global batch, so any number of ranks sees the same global batches.
/// `fixed`: each draws from a slice of the data set that is its own for the
/// whole run.
enum class Shard { step, fixed };
enum class LastBatch { keep, drop };

}  // namespace rueda
