#include <array>
#include <limits>
#include <optional>

#include "operation.hpp"

namespace rueda::standin {
namespace {

using Pair = std::array<std::int64_t, 2>;

struct Pool {
  cudnnResampleMode_t mode;
  bool pads_with_zeros;  // which may win against negative values
  Pair window, stride, pad;

  bool is_max() const { return mode == CUDNN_RESAMPLE_MAXPOOL; }
};

Pair pair(const Descriptor& d, cudnnBackendAttributeName_t name) {
  const auto values = d.integers(name);
  require(values.size() == 2, "RESAMPLE: two spatial dimensions are needed",
          CUDNN_STATUS_NOT_SUPPORTED);
  return {values[0], values[1]};
}

Pool pool_of(const DescriptorPtr& d) {
  require(d != nullptr && d->type == CUDNN_BACKEND_RESAMPLE_DESCRIPTOR,
          "an operation's resample descriptor is none", CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  const auto mode = d->one<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE);
  require(mode == CUDNN_RESAMPLE_MAXPOOL || mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING ||
              mode == CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING,
          "the stand-in resamples by pooling only", CUDNN_STATUS_NOT_SUPPORTED);
  const auto padding = d->one<cudnnPaddingMode_t>(CUDNN_ATTR_RESAMPLE_PADDING_MODE);
  return {mode, padding == CUDNN_ZERO_PAD, pair(*d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS),
          pair(*d, CUDNN_ATTR_RESAMPLE_STRIDES), pair(*d, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS)};
}

/// Calls body(position in the window, h, w, whether inside) for the window of output (p, q).
template <typename Body>
void each_in_window(const Pool& pool, const Dims& x, std::int64_t p, std::int64_t q,
                    const Body& body) {
  for (std::int64_t i = 0; i < pool.window[0] * pool.window[1]; ++i) {
    const std::int64_t h = p * pool.stride[0] - pool.pad[0] + i / pool.window[1];
    const std::int64_t w = q * pool.stride[1] - pool.pad[1] + i % pool.window[1];
    body(i, h, w, h >= 0 && h < x[2] && w >= 0 && w < x[3]);
  }
}

/// Calls body(n, p, q, c) for every element of the output.
template <typename Body>
void each_output(const Dims& y, const Body& body) {
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t p = 0; p < y[2]; ++p) {
      for (std::int64_t q = 0; q < y[3]; ++q) {
        for (std::int64_t c = 0; c < y[1]; ++c) body(n, p, q, c);
      }
    }
  }
}

/// Where in its window the largest element is: the first one of equals.
std::int64_t place_of_largest(const Pool& pool, const Dense& x, std::int64_t n, std::int64_t p,
                              std::int64_t q, std::int64_t c) {
  float largest = -std::numeric_limits<float>::infinity();
  std::int64_t place = 0;
  each_in_window(pool, x.dims, p, q, [&](std::int64_t i, std::int64_t h, std::int64_t w, bool in) {
    if (!in && !pool.pads_with_zeros) return;
    const float value = in ? x.values[x.at(n, c, h, w)] : 0;
    if (value > largest) {
      largest = value;
      place = i;
    }
  });
  return place;
}

double divisor(const Pool& pool, const Dims& x, std::int64_t p, std::int64_t q) {
  if (pool.mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING) {
    return static_cast<double>(pool.window[0] * pool.window[1]);
  }
  double inside = 0;
  each_in_window(pool, x, p, q, [&](auto, auto, auto, bool in) { inside += in ? 1 : 0; });
  return inside;
}

struct Forward {
  Pool pool;
  TensorSpec x, y;
  std::optional<TensorSpec> places;
};

void run_max(Bindings& bindings, const Forward& f) {
  const Dense& x = bindings.get(f.x);
  Dense y(f.y.dims);
  Dense places(f.y.dims);
  each_output(y.dims, [&](std::int64_t n, std::int64_t p, std::int64_t q, std::int64_t c) {
    const std::int64_t place = place_of_largest(f.pool, x, n, p, q, c);
    each_in_window(f.pool, x.dims, p, q, [&](std::int64_t i, auto h, auto w, bool in) {
      if (i == place) y.values[y.at(n, c, p, q)] = in ? x.values[x.at(n, c, h, w)] : 0;
    });
    places.values[y.at(n, c, p, q)] = static_cast<float>(place);
  });
  bindings.put(f.y, std::move(y));
  if (f.places) bindings.put(*f.places, std::move(places));
}

void run_average(Bindings& bindings, const Forward& f) {
  const Dense& x = bindings.get(f.x);
  Dense y(f.y.dims);
  each_output(y.dims, [&](std::int64_t n, std::int64_t p, std::int64_t q, std::int64_t c) {
    double sum = 0;
    each_in_window(f.pool, x.dims, p, q, [&](auto, auto h, auto w, bool in) {
      if (in) sum += static_cast<double>(x.values[x.at(n, c, h, w)]);
    });
    y.values[y.at(n, c, p, q)] = static_cast<float>(sum / divisor(f.pool, x.dims, p, q));
  });
  bindings.put(f.y, std::move(y));
}

struct Backward {
  Pool pool;
  TensorSpec dy, dx;
  std::optional<TensorSpec> places, x;
};

void run_backward(Bindings& bindings, const Backward& b) {
  const Dense& dy = bindings.get(b.dy);
  Dense dx(b.dx.dims);
  each_output(dy.dims, [&](std::int64_t n, std::int64_t p, std::int64_t q, std::int64_t c) {
    const float gradient = dy.values[dy.at(n, c, p, q)];
    std::int64_t place = -1;  // all
    float share = gradient;
    if (!b.pool.is_max()) {
      share = static_cast<float>(static_cast<double>(gradient) / divisor(b.pool, dx.dims, p, q));
    } else if (b.places) {
      place = static_cast<std::int64_t>(bindings.get(*b.places).values[dy.at(n, c, p, q)]);
    } else {
      place = place_of_largest(b.pool, bindings.get(*b.x), n, p, q, c);
    }
    each_in_window(b.pool, dx.dims, p, q, [&](std::int64_t i, auto h, auto w, bool in) {
      if (in && (place < 0 || i == place)) dx.values[dx.at(n, c, h, w)] += share;
    });
  });
  bindings.put(b.dx, std::move(dx));
}

std::optional<TensorSpec> maybe(const Descriptor& d, cudnnBackendAttributeName_t name) {
  if (!d.has(name)) return std::nullopt;
  return tensor_at(d, name);
}

Operation make_forward(const Descriptor& d) {
  const Forward f{pool_of(d.child(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC)),
                  tensor_at(d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC),
                  tensor_at(d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC),
                  maybe(d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC)};
  std::vector<TensorSpec> writes = {f.y};
  if (f.places) writes.push_back(*f.places);
  return {{f.x}, writes, [f](Bindings& bindings) {
            f.pool.is_max() ? run_max(bindings, f) : run_average(bindings, f);
          }};
}

Operation make_backward(const Descriptor& d) {
  const Backward b{pool_of(d.child(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC)),
                   tensor_at(d, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC),
                   tensor_at(d, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC),
                   maybe(d, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC),
                   maybe(d, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_XDESC)};
  require(!b.pool.is_max() || b.places || b.x,
          "OPERATION_RESAMPLE_BWD of max pooling lacks the indices or x");
  std::vector<TensorSpec> reads = {b.dy};
  if (b.places) reads.push_back(*b.places);
  if (b.x) reads.push_back(*b.x);
  return {reads, {b.dx}, [b](Bindings& bindings) { run_backward(bindings, b); }};
}

}  // namespace

Operation make_resample(const Descriptor& d) {
  return d.type == CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR ? make_forward(d)
                                                                   : make_backward(d);
}

}  // namespace rueda::standin
