#include "buffer.hpp"

#include <utility>

namespace rueda::bench {
namespace {

class BackendBuffer final : public Buffer {
 public:
  BackendBuffer(Backend& backend, std::unique_ptr<Memory> memory, std::span<float> floats)
      : backend_(backend), memory_(std::move(memory)), floats_(floats) {}

  std::span<float> floats() override { return floats_; }
  void upload(std::span<float> to, std::span<const float> host) override {
    backend_.upload(to, host);
    backend_.finish();
  }
  void download(std::span<float> host, std::span<const float> from) override {
    backend_.download(host, from);
  }

 private:
  Backend& backend_;
  std::unique_ptr<Memory> memory_;  ///< null: somebody else's
  std::span<float> floats_;
};

}  // namespace

std::unique_ptr<Buffer> make_buffer(Backend& backend, std::size_t bytes) {
  auto memory = backend.allocate(bytes);
  const auto floats = memory->floats();
  return std::make_unique<BackendBuffer>(backend, std::move(memory), floats);
}

std::unique_ptr<Buffer> make_buffer(Backend& backend, std::span<float> arena) {
  return std::make_unique<BackendBuffer>(backend, nullptr, arena);
}

}  // namespace rueda::bench
