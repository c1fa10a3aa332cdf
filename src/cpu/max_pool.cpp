#include "kernels/max_pool.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu/operations.hpp"
#include "cpu/parallel.hpp"

namespace rueda::cpu {
namespace {

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
        images_(std::size_t(r.batch)),
        zeros_(from_.block) {}

  OperationNeeds needs() const override {
    return {.workspace_bytes = images_ * to_.image_elements()};
  }

  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    for_each_row(to_, out_, [this](std::size_t plane, int y) {
      const std::size_t first = at(to_, out_, plane, y, 0);
      const std::size_t row = std::size_t(out_.width) * to_.block;
      T* output = elements<T>(memory_.output) + first;
      auto* winner = elements<std::uint8_t>(memory_.workspace) + first;
      std::fill_n(output, row, kernels::from_float<T>(-std::numeric_limits<float>::infinity()));
      std::fill_n(winner, row, std::uint8_t{0});
      for (int place = 0; place < pool_.kernel * pool_.kernel; ++place)
        for (int x = 0; x < out_.width; ++x)
          if (const T* values = window(plane, y, x, place)) {
            const std::size_t pixel = std::size_t(x) * to_.block;
            take(output + pixel, winner + pixel, values, place);
          }
    });
  }

  /// Gathers from the windows that cover a pixel: every gradient is written
  /// once, and no two threads meet.
  void backward() override {
    if (memory_.input_gradients.front() == nullptr) return;
    for_each_row(from_, in_, [this](std::size_t plane, int y) {
      std::vector<float> sums(std::size_t(in_.width) * from_.block);
      const auto rows = windows_over(y, out_.height);
      for (int x = 0; x < in_.width; ++x) {
        const auto columns = windows_over(x, out_.width);
        for (int oy = rows.first; oy < rows.end; ++oy)
          for (int ox = columns.first; ox < columns.end; ++ox)
            gather(sums.data() + std::size_t(x) * from_.block, at(to_, out_, plane, oy, ox),
                   (y + pool_.padding - oy * pool_.stride) * pool_.kernel + x + pool_.padding -
                       ox * pool_.stride);
      }
      T* target = elements<T>(memory_.input_gradients.front()) + at(from_, in_, plane, y, 0);
      for (std::size_t i = 0; i < sums.size(); ++i) target[i] = kernels::from_float<T>(sums[i]);
    });
  }

 private:
  /// f(plane, y), a plane being one block of channels of one image; rows go to the threads.
  template <typename F>
  void for_each_row(const ActivationView& view, const Shape& shape, const F& f) const {
    const auto rows = std::size_t(shape.height);
    parallel_for(images_ * view.blocks() * rows,
                 [&](std::size_t i) { f(i / rows, int(i % rows)); });
  }

  static std::size_t at(const ActivationView& view, const Shape& shape, std::size_t plane, int y,
                        int x) {
    return (plane * view.pixels + std::size_t(y * shape.width + x)) * view.block;
  }

  /// The channels at a place of a window; null: outside, where nothing wins.
  const T* window(std::size_t plane, int y, int x, int place) const {
    const int iy = y * pool_.stride - pool_.padding + place / pool_.kernel;
    const int ix = x * pool_.stride - pool_.padding + place % pool_.kernel;
    if (iy >= 0 && iy < in_.height && ix >= 0 && ix < in_.width)
      return elements<T>(memory_.inputs.front()) + at(from_, in_, plane, iy, ix);
    if (pool_.filled_with == PoolPadding::none) return nullptr;
    return zeros_.data();
  }

  void take(T* output, std::uint8_t* winner, const T* values, int place) const {
#pragma omp simd
    for (std::size_t c = 0; c < to_.block; ++c) {
      float largest = kernels::to_float(output[c]);
      std::int32_t won = winner[c];
      kernels::take_larger(largest, won, kernels::to_float(values[c]), place);
      output[c] = kernels::from_float<T>(largest);
      winner[c] = std::uint8_t(won);
    }
  }

  /// Adds the gradients of an output whose window this place won.
  void gather(float* sums, std::size_t from, int place) const {
    const T* gradient = elements<T>(memory_.output_gradients.front()) + from;
    const std::uint8_t* winner = elements<std::uint8_t>(memory_.workspace) + from;
    const auto add = [=](std::size_t c) {
      const float share = kernels::to_float(gradient[c]);
      sums[c] += winner[c] == place ? share : 0.0F;
    };
    constexpr std::size_t kLanes =
        8;  // a constant: no block has the 64 channels of a vector of winners
    std::size_t c = 0;
    for (; c + kLanes <= to_.block; c += kLanes)
#pragma omp simd
      for (std::size_t i = 0; i < kLanes; ++i) add(c + i);
    for (; c < to_.block; ++c) add(c);
  }

  kernels::CoveringWindows windows_over(int input, int outputs) const {
    return kernels::windows_over(input, pool_.kernel, pool_.stride, pool_.padding, outputs);
  }

  MaxPoolNode pool_;
  ActivationView from_, to_;
  Shape in_, out_;
  std::size_t images_;
  std::vector<T> zeros_;  ///< of a block
  OperationMemory memory_;
};

}  // namespace

std::unique_ptr<Operation> make(const OperationRequest& request, const MaxPoolNode& pool) {
  return with_element_type(request.output_view(), [&]<typename T>() -> std::unique_ptr<Operation> {
    return std::make_unique<MaxPool<T>>(request, pool);
  });
}

}  // namespace rueda::cpu
