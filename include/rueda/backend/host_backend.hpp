#pragma once

#include "backend.hpp"

namespace rueda {

/// What all backends have in common whose memory is the host's and whose work is done when a call
/// returns.
class HostBackend : public Backend {
 public:
  std::size_t free_memory() const override;
  void announce(std::size_t bucket) override { announcements_.announce(bucket); }
  std::uint64_t announced(std::size_t bucket) const override {
    return announcements_.count(bucket);
  }
  HostAnnouncements::Time wait_announced(std::size_t bucket, std::uint64_t count) const override;
  void zero(std::span<float> values) override;
  void upload(std::span<float> device, std::span<const float> host) override;
  void download(std::span<float> host, std::span<const float> device) override;
  void finish() override {}

 private:
  HostAnnouncements announcements_;
};

}  // namespace rueda
