#include <algorithm>

#include "element.hpp"
#include "operations.hpp"
#include "parallel.hpp"

namespace rueda::cpu {
namespace {

/// Every `stride`-th pixel of the input, with zero channels around. Small own loops: the channel
/// offset need not be a multiple of the layout's block, which no oneDNN view can express.
template <typename T>
class PadShortcut final : public Operation {
 public:
  PadShortcut(const OperationRequest& r, const PadShortcutNode& pad)
      : from_(r.input_view()),
        to_(r.output_view()),
        in_(r.graph.shape(r.input())),
        out_(r.self().output),
        stride_(pad.stride),
        batch_(static_cast<std::size_t>(r.batch)) {}

  OperationNeeds needs() const override { return {}; }
  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    const T* source = elements<T>(memory_.inputs[0]);
    T* target = elements<T>(memory_.output);
    parallel_for(batch_, [&](std::size_t image) {
      std::fill_n(target + image * to_.image_elements(), to_.image_elements(), T{});
      for_each_copied(image, [&](std::size_t from, std::size_t to) { target[to] = source[from]; });
    });
  }

  void backward() override {
    const T* source = elements<T>(memory_.output_gradients[0]);
    T* target = elements<T>(memory_.input_gradients[0]);
    if (target == nullptr) return;
    parallel_for(batch_, [&](std::size_t image) {
      std::fill_n(target + image * from_.image_elements(), from_.image_elements(), T{});
      for_each_copied(image, [&](std::size_t from, std::size_t to) { target[from] = source[to]; });
    });
  }

 private:
  /// f(index in the input, index in the output) for every value that is copied.
  template <typename F>
  void for_each_copied(std::size_t image, const F& f) const {
    const int shift = (out_.channels - in_.channels) / 2;
    for (int c = 0; c < in_.channels; ++c) {
      for (int y = 0; y < out_.height; ++y) {
        for (int x = 0; x < out_.width; ++x) {
          f(from_.offset(image, static_cast<std::size_t>(c),
                         static_cast<std::size_t>(y * stride_ * in_.width + x * stride_)),
            to_.offset(image, static_cast<std::size_t>(c + shift),
                       static_cast<std::size_t>(y * out_.width + x)));
        }
      }
    }
  }

  BlockedView from_, to_;
  Shape in_, out_;
  int stride_;
  std::size_t batch_;
  OperationMemory memory_;
};

}  // namespace

std::unique_ptr<Operation> make_pad_shortcut(const OperationRequest& request,
                                             const PadShortcutNode& pad) {
  return make_typed<PadShortcut>(request, pad);
}

}  // namespace rueda::cpu
