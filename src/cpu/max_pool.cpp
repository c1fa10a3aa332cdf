#include "rueda/kernels/max_pool.hpp"

#include <array>
#include <limits>

#include "operations.hpp"
#include "parallel.hpp"

namespace rueda::cpu {
namespace {

/// Channels that are compared side by side.
constexpr std::size_t kLanes = 8;

/// Max pooling; the workspace remembers which place of its window won, a byte
/// per output. Own loops, because in oneDNN's padding nothing wins, and in
/// Keras' zeros do.
template <typename T>
class MaxPool final : public Operation {
 public:
  MaxPool(const OperationRequest& r, const MaxPoolNode& pool)
      : pool_(pool),
        from_(r.input_view()),
        to_(r.output_view()),
        in_(r.graph.shape(r.input())),
        out_(r.self().output),
        images_(std::size_t(r.batch)) {}

  OperationNeeds needs() const override {
    return {.workspace_bytes = images_ * to_.image_elements()};
  }

  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    for_each_pixel(to_, out_, [this](std::size_t plane, int y, int x) {
      for_each_group(to_.block, [&]<std::size_t lanes>(std::size_t channel) {
        forward_window<lanes>(plane, y, x, channel);
      });
    });
  }

  void backward() override {
    if (memory_.input_gradients.front() == nullptr) return;
    for_each_pixel(from_, in_, [this](std::size_t plane, int y, int x) {
      for_each_group(from_.block, [&]<std::size_t lanes>(std::size_t channel) {
        backward_pixel<lanes>(plane, y, x, channel);
      });
    });
  }

 private:
  /// f(plane, y, x), a plane being one block of channels of one image; rows go to the threads.
  template <typename F>
  void for_each_pixel(const ActivationView& view, const Shape& shape, const F& f) const {
    const auto rows = std::size_t(shape.height);
    parallel_for(images_ * view.blocks() * rows, [&](std::size_t i) {
      for (int x = 0; x < shape.width; ++x) f(i / rows, int(i % rows), x);
    });
  }

  /// f<lanes>(first channel) over the channels of a block.
  template <typename F>
  static void for_each_group(std::size_t block, const F& f) {
    std::size_t channel = 0;
    for (; channel + kLanes <= block; channel += kLanes) f.template operator()<kLanes>(channel);
    for (; channel < block; ++channel) f.template operator()<1>(channel);
  }

  static std::size_t at(const ActivationView& view, const Shape& shape, std::size_t plane, int y,
                        int x) {
    return (plane * view.pixels + std::size_t(y * shape.width + x)) * view.block;
  }

  template <std::size_t lanes>
  void forward_window(std::size_t plane, int y, int x, std::size_t channel) const {
    const T* source = elements<T>(memory_.inputs.front()) + channel;
    std::array<float, lanes> largest;
    std::array<std::int32_t, lanes> winner{};
    largest.fill(-std::numeric_limits<float>::infinity());
    for (int place = 0; place < pool_.kernel * pool_.kernel; ++place) {
      const int iy = y * pool_.stride - pool_.padding + place / pool_.kernel;
      const int ix = x * pool_.stride - pool_.padding + place % pool_.kernel;
      const bool inside = iy >= 0 && iy < in_.height && ix >= 0 && ix < in_.width;
      if (!inside && pool_.filled_with == PoolPadding::none) continue;
      const T* values = inside ? source + at(from_, in_, plane, iy, ix) : nullptr;
      for (std::size_t c = 0; c < lanes; ++c) {
        const float value = inside ? kernels::to_float(values[c]) : 0.0F;
        kernels::take_larger(largest[c], winner[c], value, place);
      }
    }
    const std::size_t target = at(to_, out_, plane, y, x) + channel;
    for (std::size_t c = 0; c < lanes; ++c) {
      elements<T>(memory_.output)[target + c] = kernels::from_float<T>(largest[c]);
      elements<std::uint8_t>(memory_.workspace)[target + c] = std::uint8_t(winner[c]);
    }
  }

  /// Gathers from the windows that cover the pixel: every gradient is written
  /// once, and no two threads meet.
  template <std::size_t lanes>
  void backward_pixel(std::size_t plane, int y, int x, std::size_t channel) const {
    const T* gradient = elements<T>(memory_.output_gradients.front()) + channel;
    const std::uint8_t* winner = elements<std::uint8_t>(memory_.workspace) + channel;
    const auto rows = windows_over(y, out_.height);
    const auto columns = windows_over(x, out_.width);
    std::array<float, lanes> sum{};
    for (int oy = rows.first; oy < rows.end; ++oy) {
      for (int ox = columns.first; ox < columns.end; ++ox) {
        const int place = (y + pool_.padding - oy * pool_.stride) * pool_.kernel + x +
                          pool_.padding - ox * pool_.stride;
        const std::size_t from = at(to_, out_, plane, oy, ox);
        for (std::size_t c = 0; c < lanes; ++c) {
          const float share = kernels::to_float(gradient[from + c]);
          sum[c] += winner[from + c] == place ? share : 0.0F;
        }
      }
    }
    T* target = elements<T>(memory_.input_gradients.front()) + at(from_, in_, plane, y, x);
    for (std::size_t c = 0; c < lanes; ++c) target[channel + c] = kernels::from_float<T>(sum[c]);
  }

  kernels::CoveringWindows windows_over(int input, int outputs) const {
    return kernels::windows_over(input, pool_.kernel, pool_.stride, pool_.padding, outputs);
  }

  MaxPoolNode pool_;
  ActivationView from_, to_;
  Shape in_, out_;
  std::size_t images_;
  OperationMemory memory_;
};

}  // namespace

std::unique_ptr<Operation> make(const OperationRequest& request, const MaxPoolNode& pool) {
  return with_element_type(request.output_view(), [&]<typename T>() -> std::unique_ptr<Operation> {
    return std::make_unique<MaxPool<T>>(request, pool);
  });
}

}  // namespace rueda::cpu
