#pragma once

#include <cstddef>
#include <functional>

namespace rueda::test {

/// Looks at the pointers that MPI_Sendrecv and MPI_Allreduce are handed, as long as it lives. One
/// at a time. (The test program defines both functions itself and passes them on by their PMPI
/// names.)
class MpiSpy {
 public:
  struct Seen {
    std::size_t device = 0;  ///< pointers into the device's memory
    std::size_t host = 0;    ///< others; those of empty messages are not counted
  };

  /// `is_device`: whether an address is of a device's memory, not of the host's.
  explicit MpiSpy(std::function<bool(const void*)> is_device);
  ~MpiSpy();
  MpiSpy(const MpiSpy&) = delete;
  MpiSpy& operator=(const MpiSpy&) = delete;

  const Seen& seen() const { return seen_; }
  void look_at(const void* pointer, int count);

 private:
  std::function<bool(const void*)> is_device_;
  Seen seen_;
};

}  // namespace rueda::test
