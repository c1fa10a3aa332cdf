#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "facts.hpp"

namespace rueda::doctor {

/// A folder of small files by which the supervisors of a run exchange how the transfer ended when
/// MPI no longer can. The first rank makes all files in advance, empty: on network file
/// systems a file that is opened anew is seen as it is, while one that was not there stays unseen
/// for a while.
class Mailbox {
 public:
  Mailbox() = default;
  /// The one in `folder`, as rank `rank` of `size` uses it.
  Mailbox(std::filesystem::path folder, int rank, int size)
      : folder_(std::move(folder)), rank_(rank), size_(size) {}

  /// Makes a folder for `size` ranks below `parent` and returns its path; empty if that fails.
  static std::string make(const std::filesystem::path& parent, int size);
  /// Whether this rank can write its file: whether the folder is the same for all.
  bool reachable() const;

  /// Leaves how this rank's transfer ended. False if that fails.
  bool put(const TransferFacts& mine) const;
  /// What a rank left; nothing if it has not yet.
  std::optional<TransferFacts> get(int rank) const;
  /// Asks all ranks to end their transfers; whether a rank did.
  void ask_to_stop() const;
  bool is_asked_to_stop() const;

  void remove() const noexcept;

 private:
  std::filesystem::path file_of(int rank) const;

  std::filesystem::path folder_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace rueda::doctor
