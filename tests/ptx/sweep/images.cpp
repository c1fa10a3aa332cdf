#include <algorithm>
#include <tuple>

#include "sweep.hpp"

// Kernels on images: pooling, shortcuts, batches.

namespace rueda::sweep {
namespace {

using cuda::ImageShape;

std::size_t elements(const ImageShape& s) {
  return std::size_t(s.images) * std::size_t(s.height) * std::size_t(s.width) *
         std::size_t(s.channels);
}

std::size_t place(const ImageShape& s, int n, int y, int x, int c) {
  const std::size_t row = std::size_t(n) * std::size_t(s.height) + std::size_t(y);
  return (row * std::size_t(s.width) + std::size_t(x)) * std::size_t(s.channels) + std::size_t(c);
}

/// Calls f(n, y, x, c, index) for every number of an activation.
template <typename F>
void each(const ImageShape& s, const F& f) {
  std::size_t i = 0;
  for (int n = 0; n < s.images; ++n)
    for (int y = 0; y < s.height; ++y)
      for (int x = 0; x < s.width; ++x)
        for (int c = 0; c < s.channels; ++c) f(n, y, x, c, i++);
}

std::string shape_of(const ImageShape& s) {
  return text("%dx%dx%dx%d", s.images, s.height, s.width, s.channels);
}

struct Window {
  int kernel, stride, padding;
  bool zeros, aligned;
};

/// A maximum pooling, and what is expected of it.
template <typename T>
struct Pool {
  Window w;
  ImageShape in, out;
  std::vector<T> x, dy;
  Doubles y, dx;
  std::vector<std::uint8_t> winners;

  Pool(const Window& window, const ImageShape& shape)
      : w(window),
        in(shape),
        out{shape.images, shape.channels, pooled(shape.height), pooled(shape.width)},
        x(random_values<T>(61, elements(in))),
        dy(random_values<T>(62, elements(out))),
        y(elements(out)),
        dx(elements(in)),
        winners(elements(out)) {
    for (std::size_t i = 0; i < x.size(); i += 7) x[i] = x[i / 2];  // equals
    if (x.size() > 20) x[11] = rounded<T>(NAN);
    each(out, [&](int n, int row, int column, int c, std::size_t i) {
      pool(n, row * w.stride - w.padding, column * w.stride - w.padding, c, i);
    });
  }

  std::size_t before() const { return w.aligned ? 0 : sizeof(T); }
  cuda::PoolWork work() const {
    return {kElement<T>, in, out, w.kernel, w.stride, w.padding, w.zeros};
  }
  std::string shape() const {
    return text("%s, %d/%d/%d%s%s", shape_of(in).c_str(), w.kernel, w.stride, w.padding,
                w.zeros ? " zeros" : "", w.aligned ? "" : " not aligned");
  }

 private:
  int pooled(int size) const { return (size + 2 * w.padding - w.kernel) / w.stride + 1; }
  bool is_inside(int row, int column) const {
    return row >= 0 && column >= 0 && row < in.height && column < in.width;
  }
  /// The window whose first pixel is at (row, column).
  void pool(int n, int row, int column, int c, std::size_t i) {
    y[i] = -INFINITY;
    for (int k = 0; k < w.kernel * w.kernel; ++k) {
      const int at = row + k / w.kernel, beside = column + k % w.kernel;
      const bool inside = is_inside(at, beside);
      if (!inside && !w.zeros) continue;
      const double v = inside ? widened(x[place(in, n, at, beside, c)]) : 0.0;
      if (std::isnan(y[i]) || !(v > y[i] || std::isnan(v))) continue;
      y[i] = v;
      winners[i] = std::uint8_t(k);
    }
    const int at = row + winners[i] / w.kernel, beside = column + winners[i] % w.kernel;
    if (is_inside(at, beside)) dx[place(in, n, at, beside, c)] += widened(dy[i]);
  }
};

template <typename T>
void max_pool(const Pool<T>& p, Schedules schedules) {
  const std::size_t before_places = p.w.aligned ? 0 : 1;
  for (const bool keeps : {false, true})
    row(
        text("max_pool %s%s", kName<T>, keeps ? " winners" : ""), p.shape(),
        [&](Row& r) {
          const Operand<T> from(p.x, p.before()), to(p.y.size(), p.before());
          const Operand<std::uint8_t> places(p.y.size(), before_places);
          cuda::max_pool(p.work(), to.get(), from.get(), keeps ? places.get() : nullptr, stream());
          expect(r, to.read(r), p.y, 0);
          if (keeps && places.read(r) != p.winners) r.fail("mismatch of winners");
        },
        schedules);
  row(
      text("max_pool_backward %s", kName<T>), p.shape(),
      [&](Row& r) {
        const Operand<T> gradient(p.dy, p.before()), to(p.dx.size(), p.before());
        const Operand<std::uint8_t> places(p.winners, before_places);
        cuda::max_pool_backward(p.work(), to.get(), gradient.get(), places.get(), stream());
        expect(r, to.read(r), p.dx, 16, 1);  // up to 81 summands
      },
      schedules);
}

/// Every `stride`-th pixel of a square image, and `more` channels.
struct Shortcut {
  ImageShape in;
  int more, stride;
  ImageShape out() const {
    const int half = (in.height - 1) / stride + 1;
    return {in.images, in.channels + more, half, half};
  }
  std::string shape() const {
    return text("%s to %d, /%d", shape_of(in).c_str(), in.channels + more, stride);
  }
};

template <typename T>
void pad_shortcut(const Shortcut& s) {
  const ImageShape out = s.out();
  const cuda::PoolWork work{kElement<T>, s.in, out, 1, s.stride};
  const int first = s.more / 2;
  row(text("pad_shortcut %s", kName<T>), s.shape(), [&](Row& r) {
    const auto x = random_values<T>(63, elements(s.in));
    const Operand<T> from(x, sizeof(T)), to(elements(out), sizeof(T));
    cuda::pad_shortcut(work, to.get(), from.get(), stream());
    Doubles want(elements(out));
    each(out, [&](int n, int y, int column, int c, std::size_t i) {
      if (c < first || c >= first + s.in.channels) return;
      want[i] = widened(x[place(s.in, n, y * s.stride, column * s.stride, c - first)]);
    });
    expect(r, to.read(r), want, 0);
  });
  row(text("pad_shortcut_backward %s", kName<T>), s.shape(), [&](Row& r) {
    const auto dy = random_values<T>(64, elements(out));
    const Operand<T> from(dy, sizeof(T)), to(elements(s.in), sizeof(T));
    cuda::pad_shortcut_backward(work, to.get(), from.get(), stream());
    Doubles want(elements(s.in));
    each(s.in, [&](int n, int y, int column, int c, std::size_t i) {
      if (y % s.stride != 0 || column % s.stride != 0) return;
      want[i] = widened(dy[place(out, n, y / s.stride, column / s.stride, c + first)]);
    });
    expect(r, to.read(r), want, 0);
  });
}

template <typename T>
void average_pool(const ImageShape& in, bool aligned) {
  const cuda::PoolWork work{kElement<T>, in, {in.images, in.channels, 1, 1}};
  const std::string shape = shape_of(in) + (aligned ? "" : " not aligned");
  const auto channels = std::size_t(in.channels);
  const std::size_t before = aligned ? 0 : sizeof(T), sums = std::size_t(in.images) * channels;
  const double pixels = double(in.height) * double(in.width);
  row(text("global_average_pool %s", kName<T>), shape, [&](Row& r) {
    const auto x = random_values<T>(65, elements(in));
    const Operand<T> from(x, before);
    const Operand<float> to(sums, 4);
    cuda::global_average_pool(work, to.get(), from.get(), stream());
    Doubles want(sums);
    each(in, [&](int n, int, int, int c, std::size_t i) {
      want[std::size_t(n) * channels + std::size_t(c)] += widened(x[i]) / pixels;
    });
    expect(r, to.read(r), want, 8, 1);
  });
  row(text("global_average_pool_backward %s", kName<T>), shape, [&](Row& r) {
    const auto dy = random_values<float>(66, sums);
    const Operand<float> from(dy, 4);
    const Operand<T> to(elements(in), before);
    cuda::global_average_pool_backward(work, to.get(), from.get(), stream());
    Doubles want(elements(in));
    each(in, [&](int n, int, int, int c, std::size_t i) {
      const float sum = dy[std::size_t(n) * channels + std::size_t(c)];
      want[i] = widened(rounded<T>(as_float(double(sum) / pixels)));
    });
    expect(r, to.read(r), want, 0);
  });
}

/// Its own words for what the documentation says of a batch: a crop of 32 pixels with four of zeros
/// about, a flip, half-pixel bilinear resizing.
class Batch {
 public:
  Batch(int size, bool augment, std::size_t count)
      : transform{size, augment, {125.3F, 123.0F, 113.9F}, {1 / 63.0F, 1 / 62.1F, 1 / 66.7F}},
        pixels(kImages * 3072),
        labels(kImages),
        indices(count) {
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = std::uint8_t(128 + 127 * noise(67, i));
    for (std::size_t i = 0; i < kImages; ++i) labels[i] = std::uint8_t(i % 10);
    for (std::size_t n = 0; n < count; ++n) indices[n] = std::uint32_t((n * 5 + 22) % kImages);
  }

  /// One value of sample n.
  double value(std::size_t n, std::size_t c, int y, int x) const {
    const int size = transform.image_size;
    const double v = std::clamp((y + 0.5) * 32 / size - 0.5, 0.0, 31.0),
                 h = std::clamp((x + 0.5) * 32 / size - 0.5, 0.0, 31.0);
    const int top = int(v), left = int(h), bottom = std::min(top + 1, 31),
              right = std::min(left + 1, 31);
    const double down = v - top, aside = h - left;
    const double upper = at(n, c, top, left) * (1 - aside) + at(n, c, top, right) * aside;
    const double lower = at(n, c, bottom, left) * (1 - aside) + at(n, c, bottom, right) * aside;
    const double pixel = upper * (1 - down) + lower * down;
    return (pixel - double(transform.mean[c])) * double(transform.scale[c]);
  }

  kernels::PixelTransform transform;
  std::vector<std::uint8_t> pixels, labels;
  std::vector<std::uint32_t> indices;

 private:
  static constexpr std::size_t kImages = 23;

  double at(std::size_t n, std::size_t c, int y, int x) const {
    const auto a =
        transform.augment ? kernels::draw_augment(11, 4, indices[n]) : kernels::SampleAugment{};
    y += a.shift_y;
    x = (a.flip ? 31 - x : x) + a.shift_x;
    const bool inside = y >= 0 && x >= 0 && y <= 31 && x <= 31;
    const std::size_t plane = (indices[n] * 3 + c) * 1024;
    return inside ? double(pixels[plane + std::size_t(y * 32 + x)]) : 0.0;
  }
};

template <typename T>
void make_batch(int size, bool augment, std::size_t count) {
  row(text("make_batch %s%s", kName<T>, augment ? " augment" : ""),
      text("%zu of %dx%d", count, size, size), [&](Row& r) {
        const Batch batch(size, augment, count);
        const Operand<std::uint8_t> pixels(batch.pixels, 1), labels(batch.labels, 3);
        const Operand<std::uint32_t> indices(batch.indices, 4);
        const ImageShape shape{int(count), 3, size, size};
        const Operand<T> values(elements(shape), sizeof(T));
        const Operand<std::int32_t> to_labels(count, 4);
        cuda::make_batch({pixels.get(), labels.get(), indices.get(), count}, batch.transform, 11, 4,
                         {values.get(), kElement<T>, to_labels.get()}, stream());
        Doubles want(elements(shape)), want_labels(count);
        each(shape, [&](int n, int y, int x, int c, std::size_t i) {
          want[i] = batch.value(std::size_t(n), std::size_t(c), y, x);
        });
        for (std::size_t n = 0; n < count; ++n)
          want_labels[n] = double(batch.labels[batch.indices[n]]);
        // The place of a pixel is known to 2^-19 in fp32, and neighbours are up to 4 apart.
        expect(r, values.read(r), want, std::is_same_v<T, float> ? 256 : 1, 1);
        expect(r, to_labels.read(r), want_labels, 0, 0, "labels");
      });
}

/// A convolution of `kernel` columns on rows of `width` pixels of three channels.
template <typename T>
void unroll_rows(int width, int kernel, int stride, int padding) {
  constexpr int lanes = 16 / sizeof(T);
  const int columns = (width + 2 * padding - kernel) / stride + 1;
  const kernels::RowWindows w{3 * width,   columns,    3 * stride,
                              3 * padding, 3 * kernel, (3 * kernel + lanes - 1) / lanes * lanes};
  row(text("unroll_rows %s", kName<T>), text("%d, %d/%d/%d", width, kernel, stride, padding),
      [&](Row& r) {
        const std::size_t rows = 5;
        const auto x = random_values<T>(68, rows * std::size_t(w.row));
        const Operand<T> from(x, sizeof(T));
        const ImageShape shape{int(rows), w.stored, 1, columns};
        const Operand<T> to(elements(shape));
        cuda::unroll_rows(kElement<T>, to.get(), from.get(), rows, w, stream());
        Doubles want(elements(shape));
        each(shape, [&](int n, int, int window, int k, std::size_t i) {
          const int column = window * stride - padding + k / 3;
          if (k >= w.values || column < 0 || column >= width) return;
          want[i] = widened(x[std::size_t(n * w.row + column * 3 + k % 3)]);
        });
        expect(r, to.read(r), want, 0);
      });
}

template <typename T>
void all_pools() {
  std::vector<Window> windows = {{2, 2, 0, false, true},
                                 {3, 2, 1, true, true},
                                 {3, 2, 1, true, false},
                                 {5, 3, 2, false, true}};
  if (choice().whole)
    windows.insert(windows.end(),
                   {{3, 2, 1, false, true}, {3, 1, 1, false, true}, {6, 1, 3, true, true}});
  for (const int channels : {3, 8, 16, 20})
    for (const Window& w : windows) max_pool<T>({w, {3, channels, 9, 7}}, {});
  max_pool<T>({{15, 1, 7, false, true}, {2, 8, 9, 9}}, {});
  if (choice().whole) max_pool<T>({{3, 2, 1, false, true}, {5, 64, 33, 33}}, {1, false});
}

template <typename T>
void all_images() {
  all_pools<T>();
  for (const int stride : {1, 2, 3}) {
    pad_shortcut<T>({{3, 16, 8, 8}, 16, stride});
    pad_shortcut<T>({{2, 5, 7, 7}, 3, stride});
    pad_shortcut<T>({{1, 4, 3, 3}, 0, stride});
  }
  for (const int channels : {1, 3, 8, 64, 20})
    for (const auto& [height, width] : {std::pair{1, 1}, {4, 4}, {3, 3}, {7, 5}, {16, 9}}) {
      average_pool<T>({3, channels, height, width}, true);
      average_pool<T>({2, channels, height, width}, false);
    }
  for (const auto& [kernel, stride, padding] :
       {std::tuple{3, 1, 1}, {7, 2, 3}, {1, 2, 0}, {5, 3, 2}}) {
    unroll_rows<T>(7, kernel, stride, padding);
    unroll_rows<T>(128, kernel, stride, padding);
  }
  for (const bool augment : {false, true}) {
    for (const int size : {1, 7, 31}) make_batch<T>(size, augment, 5);
    make_batch<T>(48, augment, 2);
    if (!choice().whole) continue;
    make_batch<T>(32, augment, 5);
    make_batch<T>(64, augment, 2);
  }
  make_batch<T>(32, true, 1);
  make_batch<T>(32, true, choice().whole ? 67 : 5);
}

}  // namespace

void sweep_images() {
  all_images<float>();
  all_images<Bfloat16>();
}

}  // namespace rueda::sweep
