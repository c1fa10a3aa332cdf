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
  /// Copies host memory to the beginning of one of the sides, and back; done on return.
  virtual void upload(std::span<float> to, std::span<const float> host) = 0;
  virtual void download(std::span<float> host, std::span<const float> from) = 0;
};

class HostExchangeBuffer final : public ExchangeBuffer {
 public:
  explicit HostExchangeBuffer(std::size_t floats) : send_(floats), receive_(floats) {}

  std::span<float> send_side() override { return send_; }
  std::span<float> receive_side() override { return receive_; }
  void upload(std::span<float> to, std::span<const float> host) override {
    std::copy(host.begin(), host.end(), to.begin());
  }
  void download(std::span<float> host, std::span<const float> from) override {
    std::copy_n(from.begin(), host.size(), host.begin());
  }

 private:
  std::vector<float> send_;
  std::vector<float> receive_;
};

}  // namespace rueda
