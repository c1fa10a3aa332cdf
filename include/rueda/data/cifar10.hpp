#pragma once

#include <filesystem>

#include "dataset.hpp"

namespace rueda {

/// Reads CIFAR-10 in any of the four official forms: a directory holding the binary version
/// (`data_batch_*.bin`, `test_batch.bin`) or the Python version (`data_batch_*`, `test_batch`), the
/// parent of such a directory (`cifar-10-batches-bin` / `cifar-10-batches-py`), or either
/// `.tar.gz` as downloaded, read without unpacking to disk.
/// Fewer or more training files or images than the official number are accepted and remarked.
/// Throws InputError naming file, offset and reason for anything missing, truncated or damaged.
Dataset read_cifar10(const std::filesystem::path& where);

}  // namespace rueda
