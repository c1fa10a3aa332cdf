#include "transfer.hpp"

#include <csignal>
#include <cstring>
#include <memory>

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include "escape.hpp"
#include "mpi/probes/link_probe.hpp"
#include "rueda/core/error.hpp"
#if RUEDA_WITH_CUDA
#include "cuda/device/doctor_device.hpp"
#endif

namespace rueda::doctor {
namespace {

using Kind = DoctorFault::Kind;
using End = TransferFacts::End;

constexpr std::size_t kSmallFloats = 1024 / sizeof(float);
constexpr std::size_t kLargeFloats = kPingPongBytes / sizeof(float);

/// Shows one element otherwise than it came.
class SpoilingBuffer final : public ExchangeBuffer {
 public:
  explicit SpoilingBuffer(std::unique_ptr<ExchangeBuffer> inner) : inner_(std::move(inner)) {}
  std::span<float> send_side() override { return inner_->send_side(); }
  std::span<float> receive_side() override { return inner_->receive_side(); }
  void upload(std::span<float> to, std::span<const float> host) override {
    inner_->upload(to, host);
  }
  void download(std::span<float> host, std::span<const float> from) override {
    inner_->download(host, from);
    host[host.size() / 2] += 1;
  }

 private:
  std::unique_ptr<ExchangeBuffer> inner_;
};

std::unique_ptr<ExchangeBuffer> make_buffer(bool device, Kind injected) {
  std::unique_ptr<ExchangeBuffer> buffer;
#if RUEDA_WITH_CUDA
  if (device) buffer = make_device_exchange_buffer(kLargeFloats);
#else
  if (device) throw RunError("this build has no CUDA part");
#endif
  if (!buffer) buffer = std::make_unique<HostExchangeBuffer>(kLargeFloats);
  if (injected == Kind::wrong_transfer) return std::make_unique<SpoilingBuffer>(std::move(buffer));
  return buffer;
}

void inject(Kind fault) {
  if (fault == Kind::crash_transfer) std::raise(SIGSEGV);
  if (fault == Kind::die_transfer) std::raise(SIGKILL);
  while (fault == Kind::stall_transfer) pause();
}

void note(TransferFacts& facts, const PatternResult& result) {
  if (result.wrong == 0 || facts.end == End::wrong) return;
  facts.end = End::wrong;
  facts.detail = fmt::format("{} of {} elements, the first is number {}", result.wrong,
                             result.floats, result.first_wrong);
}

void exchange(Communicator& world, TransferFacts& facts, Kind injected) {
  const auto buffer = make_buffer(facts.device, injected);
  facts.end = End::arrived;
  note(facts, pattern_ring(world, *buffer, kSmallFloats));
  inject(injected);
  note(facts, pattern_ring(world, *buffer, kLargeFloats));
  if (!facts.device) return;
  const LinkSpeed speed = ping_pong(world, *buffer);
  facts.link = {speed.latency_us, speed.gb_per_second};
}

}  // namespace

TransferFacts try_transfer(Communicator& world, bool device, DoctorFault::Kind injected) {
  TransferFacts facts{.device = device, .detail = {}, .link = {}};
  const int signal = survive([&] {
    try {
      exchange(world, facts, injected);
    } catch (const std::exception& error) {
      facts.end = End::failed;
      facts.detail = error.what();
    }
  });
  if (signal == 0) return facts;
  facts.end = signal == kEndTransfer ? End::waited : End::crashed;
  facts.detail =
      signal == kEndTransfer ? "" : fmt::format("signal {}, {}", signal, strsignal(signal));
  return facts;
}

}  // namespace rueda::doctor
