#include "rueda/backend/host_batch.hpp"

#include <vector>

#include "rueda/kernels/bfloat16.hpp"

// The steps of kernels::input_value, each done once for all values that share it. Floating-point
// contraction is off in the whole program, so that processors and GPUs round alike.

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
void make_planes(const WideImage& image, const kernels::PixelTransform& t, T* to) {
  std::vector<float> row(std::size_t(t.image_size));
  for (int c = 0; c < kImageChannels; ++c) {
    for (int y = 0; y < t.image_size; ++y) {
      make_row(image, t, c, y, row.data());
      for (const float value : row) *to++ = kernels::from_float<T>(value);
    }
  }
}

template <typename T>
void make_pixels(const WideImage& image, const kernels::PixelTransform& t, int channels, T* to) {
  const auto size = std::size_t(t.image_size);
  std::vector<float> rows(kImageChannels * size);
  for (int y = 0; y < t.image_size; ++y) {
    for (int c = 0; c < kImageChannels; ++c)
      make_row(image, t, c, y, rows.data() + std::size_t(c) * size);
    for (std::size_t x = 0; x < size; ++x) {
      for (std::size_t c = 0; c < kImageChannels; ++c)
        *to++ = kernels::from_float<T>(rows[c * size + x]);
      for (int c = kImageChannels; c < channels; ++c) *to++ = T{};
    }
  }
}

template <typename T>
void make_image(const WideImage& image, const kernels::PixelTransform& t, const InputFormat& format,
                std::byte* to) {
  T* values = reinterpret_cast<T*>(to);
  if (format.channels_last)
    make_pixels(image, t, format.channels, values);
  else
    make_planes(image, t, values);
}

}  // namespace

std::size_t InputFormat::image_bytes(int side) const noexcept {
  const auto pixels = std::size_t(side) * std::size_t(side);
  return pixels * std::size_t(channels) * (bf16 ? sizeof(kernels::Bfloat16) : sizeof(float));
}

void make_host_image(const ImageSet& images, const BatchChoice& choice, std::size_t i,
                     const InputFormat& format, std::byte* to) {
  const std::uint32_t index = choice.indices[i];
  const kernels::PixelTransform& t = choice.transform;
  const kernels::SampleAugment augment =
      t.augment ? kernels::draw_augment(choice.seed, choice.epoch, index)
                : kernels::SampleAugment{};
  const WideImage image(images.image(index).data(), t, augment);
  if (format.bf16)
    make_image<kernels::Bfloat16>(image, t, format, to);
  else
    make_image<float>(image, t, format, to);
}

}  // namespace rueda
