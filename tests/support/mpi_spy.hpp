#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace rueda::test {

/// Looks at the pointers that MPI_Sendrecv and MPI_Allreduce are handed, as long as it lives. One
/// at a time. (The program of these tests defines both functions itself, in mpi/staging_test.cpp,
/// and passes them on by their PMPI names.)
class MpiSpy {
 public:
  struct Seen {
    std::size_t device = 0;  ///< pointers into the device's memory
    std::size_t host = 0;    ///< others; those of empty messages are not counted
  };

  /// `is_device`: whether an address is of a device's memory, not of the host's.
  explicit MpiSpy(std::function<bool(const void*)> is_device) : is_device_(std::move(is_device)) {
    active_ = this;
  }
  ~MpiSpy() { active_ = nullptr; }
  MpiSpy(const MpiSpy&) = delete;
  MpiSpy& operator=(const MpiSpy&) = delete;

  const Seen& seen() const { return seen_; }
  static void look_at(const void* pointer, int count) {
    if (active_ == nullptr || count == 0) return;
    ++(active_->is_device_(pointer) ? active_->seen_.device : active_->seen_.host);
  }

 private:
  static inline MpiSpy* active_ = nullptr;
  std::function<bool(const void*)> is_device_;
  Seen seen_;
};

}  // namespace rueda::test
