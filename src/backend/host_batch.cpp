#include "backend/host_batch.hpp"

#include <vector>

#include "base/bfloat16.hpp"

// The steps of kernels::input_value, each done once for all values that share
// it. Floating-point contraction is off in the whole program, so that
// processors and GPUs round alike.

namespace rueda {
namespace {

using kernels::kSide;

/// A stored image cropped, flipped, and stretched to the output's width; its rows are still 32.
class WideImage {
 public:
  WideImage(const std::uint8_t* stored, const kernels::PixelTransform& t,
            const kernels::SampleAugment& augment)
      : width_(t.image_size), values_(std::size_t(kImageChannels * kSide * width_)) {
    std::vector<kernels::Neighbours> columns;
    for (int x = 0; x < width_; ++x) columns.push_back(kernels::neighbours(x, width_));
    for (int c = 0; c < kImageChannels; ++c) {
      const std::uint8_t* plane = stored + std::size_t(c) * kSide * kSide;
      for (int y = 0; y < kSide; ++y) stretch(plane, augment, columns, y, row(c, y));
    }
  }

  const float* row(int c, int y) const { return values_.data() + (c * kSide + y) * width_; }

 private:
  float* row(int c, int y) { return values_.data() + (c * kSide + y) * width_; }

  void stretch(const std::uint8_t* plane, const kernels::SampleAugment& augment,
               const std::vector<kernels::Neighbours>& columns, int y, float* to) const {
    float narrow[kSide];
    float* const cropped = width_ == kSide ? to : narrow;
    for (int x = 0; x < kSide; ++x) cropped[x] = kernels::cropped(plane, augment, y, x);
    if (width_ == kSide) return;
    for (const kernels::Neighbours& h : columns)
      *to++ = kernels::mixed(narrow[h.low], narrow[h.high], h.weight);
  }

  int width_;
  std::vector<float> values_;
};

/// Row `y` of the output's channel `c`.
void make_row(const WideImage& image, const kernels::PixelTransform& t, int c, int y, float* to) {
  const int size = t.image_size;
  const kernels::Neighbours v = kernels::neighbours(y, size);
  const float* top = image.row(c, v.low);
  const float* bottom = image.row(c, v.high);
  const bool stored_size = size == kSide;
  for (int x = 0; x < size; ++x) {
    const float pixel = stored_size ? top[x] : kernels::mixed(top[x], bottom[x], v.weight);
    to[x] = kernels::normalised(pixel, t, c);
  }
}

template <typename T>
void make_image(const WideImage& image, const kernels::PixelTransform& t, const InputFormat& format,
                T* to) {
  const auto size = std::size_t(t.image_size);
  std::size_t from_pixel = 1;
  std::size_t from_channel = size * size;
  if (format.channels_last) {
    from_pixel = kImageChannels;
    from_channel = 1;
  }
  std::vector<float> row(size);
  for (std::size_t y = 0; y < size; ++y) {
    T* at = to + y * size * from_pixel;
    for (int c = 0; c < kImageChannels; ++c, at += from_channel) {
      make_row(image, t, c, int(y), row.data());
      for (std::size_t x = 0; x < size; ++x) at[x * from_pixel] = kernels::from_float<T>(row[x]);
    }
  }
}

}  // namespace

std::size_t InputFormat::image_bytes(int side) const noexcept {
  const auto pixels = std::size_t(side) * std::size_t(side);
  return pixels * kImageChannels * (bf16 ? sizeof(kernels::Bfloat16) : sizeof(float));
}

void make_host_image(const ImageSet& images, const BatchChoice& choice, std::size_t i,
                     const InputFormat& format, std::byte* to) {
  const std::uint32_t index = choice.indices[i];
  const kernels::PixelTransform& t = choice.transform;
  kernels::SampleAugment augment{};
  if (t.augment) augment = kernels::draw_augment(choice.seed, choice.epoch, index);
  const WideImage image(images.image(index).data(), t, augment);
  if (format.bf16)
    make_image(image, t, format, reinterpret_cast<kernels::Bfloat16*>(to));
  else
    make_image(image, t, format, reinterpret_cast<float*>(to));
}

}  // namespace rueda
