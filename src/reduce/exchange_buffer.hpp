#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace rueda {

/// Memory to send from and to receive into, of the kind that MPI is tried with:
/// a host's, or a device's, whose pointers MPI receives as they are.
class ExchangeBuffer {
 public:
  virtual ~ExchangeBuffer() = default;
  /// Both hold as many floats, and do not overlap.
  virtual std::span<float> send_side() = 0;
  virtual std::span<float> receive_side() = 0;
  /// Copies host memory to the beginning of one of the sides, or back; lengths
  /// agree; done on return.
  virtual void copy(std::span<float> to, std::span<const float> from) = 0;
};

class HostExchangeBuffer final : public ExchangeBuffer {
 public:
  explicit HostExchangeBuffer(std::size_t floats) : send_(floats), receive_(floats) {}

  std::span<float> send_side() override { return send_; }
  std::span<float> receive_side() override { return receive_; }
  void copy(std::span<float> to, std::span<const float> from) override {
    std::ranges::copy(from, to.begin());
  }

 private:
  std::vector<float> send_;
  std::vector<float> receive_;
};

}  // namespace rueda
