#include "buffer.hpp"

namespace rueda::bench {
namespace {

class BackendBuffer final : public Buffer {
 public:
  BackendBuffer(Backend& backend, std::size_t bytes)
      : backend_(backend), memory_(backend.allocate(bytes)) {}

  std::span<float> floats() override { return memory_->floats(); }
  void upload(std::span<float> to, std::span<const float> host) override {
    backend_.upload(to, host);
    backend_.finish();
  }
  void download(std::span<float> host, std::span<const float> from) override {
    backend_.download(host, from);
  }

 private:
  Backend& backend_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace

std::unique_ptr<Buffer> make_buffer(Backend& backend, std::size_t bytes) {
  return std::make_unique<BackendBuffer>(backend, bytes);
}

}  // namespace rueda::bench
