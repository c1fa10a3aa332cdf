#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/bfloat16.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/backend/precision.hpp"

/// The backend that a test program runs its cases on. Tests name none: each program is linked with
/// one definition of these functions (cpu_under_test.cpp, cuda_under_test.cpp).
namespace rueda::test {

/// One of the ways in which a backend can do the same work.
struct Variant {
  std::string name;
  int number = 0;  ///< for the backend itself
};

/// All whose operations are to be tested.
const std::vector<Variant>& variants();
/// The one that gives the same bits every time, with what is usual otherwise.
const Variant& repeatable_variant();

/// Throws where `precision` is not available.
std::unique_ptr<Backend> open_backend_under_test(const Variant& variant, Precision precision,
                                                 int threads = 1);
inline std::unique_ptr<Backend> open_backend_under_test(Precision precision = Precision::fp32,
                                                        int threads = 1) {
  return open_backend_under_test(repeatable_variant(), precision, threads);
}
bool precision_available(Precision precision);

/// What a convolution's weight gradients are rounded to before they go to the fp32 arena.
Precision weight_gradients_in(Precision precision);
/// How much of a convolution's result may be rounded away before bias and residual are added.
double epilogue_rounding(Precision precision);
/// Whether there are convolutions from or to this number of channels, the image's three apart.
bool convolves_channels(int channels);

/// Pixels a side of the smallest images on which a network of the CIFAR kind trains quickly.
int quick_image_size();

/// Copies to and from any memory that a backend has allocated, when all its work is done.
void write_bytes(std::byte* device, std::span<const std::byte> host);
void read_bytes(std::span<std::byte> host, const std::byte* device);

/// What lies at `device` when all of the backend's work is done.
template <typename T>
std::vector<T> read_values(Backend& backend, std::span<const T> device) {
  std::vector<T> host(device.size());
  backend.finish();
  read_bytes(std::as_writable_bytes(std::span(host)),
             reinterpret_cast<const std::byte*>(device.data()));
  return host;
}

inline std::vector<float> read_floats(Backend& backend, std::span<const float> device) {
  return read_values(backend, device);
}

/// f(i, value) for the values of an activation in `host`; i is a value's place in a plain
/// (N, C, H, W) tensor.
template <typename F>
void for_each_value(const ActivationView& view, const Shape& shape, int batch,
                    std::span<std::byte> host, const F& f) {
  const auto channels = std::size_t(shape.channels);
  for (std::size_t i = 0; i < std::size_t(batch) * shape.elements(); ++i) {
    const std::size_t plane = i / view.pixels;
    const std::size_t at = view.offset(plane / channels, plane % channels, i % view.pixels);
    if (view.bf16)
      f(i, reinterpret_cast<kernels::Bfloat16*>(host.data())[at]);
    else
      f(i, reinterpret_cast<float*>(host.data())[at]);
  }
}

/// Writes plain (N, C, H, W) values into the activation of `node`, and reads them back.
inline void write_activation(const Backend& backend, const Graph& graph, NodeId node, int batch,
                             std::span<const float> nchw, std::byte* activation) {
  std::vector<std::byte> host(backend.activation_bytes(graph, node, batch));
  for_each_value(backend.view(graph, node), graph.shape(node), batch, host,
                 [&](std::size_t i, auto& value) {
                   value = kernels::from_float<std::remove_reference_t<decltype(value)>>(nchw[i]);
                 });
  write_bytes(activation, host);
}

inline std::vector<float> read_activation(Backend& backend, const Graph& graph, NodeId node,
                                          int batch, const std::byte* activation) {
  std::vector<std::byte> host(backend.activation_bytes(graph, node, batch));
  backend.finish();
  read_bytes(host, activation);
  std::vector<float> nchw(std::size_t(batch) * graph.shape(node).elements());
  for_each_value(backend.view(graph, node), graph.shape(node), batch, host,
                 [&](std::size_t i, auto& value) { nchw[i] = kernels::to_float(value); });
  return nchw;
}

/// A vector in a backend's memory.
template <typename T>
class DeviceValues {
 public:
  DeviceValues(Backend& backend, const std::vector<T>& values)
      : backend_(backend),
        size_(values.size()),
        memory_(backend.allocate(values.size() * sizeof(T))) {
    write_bytes(bytes(), std::as_bytes(std::span(values)));
  }

  std::byte* bytes() const { return memory_.data(); }
  T* data() const { return reinterpret_cast<T*>(bytes()); }
  std::span<T> span() const { return {data(), size_}; }
  std::vector<T> read() const { return read_values<T>(backend_, span()); }

 private:
  Backend& backend_;
  std::size_t size_;
  Memory memory_;
};

using DeviceFloats = DeviceValues<float>;
using DeviceLabels = DeviceValues<std::int32_t>;

/// Arenas for a program without a replica.
struct ProgramArenas {
  ProgramArenas(Backend& backend, const Graph& graph)
      : lead(GradientLayout(graph).lead()),
        parameters(backend, std::vector<float>(lead + graph.parameter_count())),
        gradients(backend, std::vector<float>(lead + graph.parameter_count())),
        batch_statistics(backend, std::vector<float>(graph.statistics_count())),
        running(backend, std::vector<float>(graph.statistics_count())) {}
  ParameterMemory memory() const {
    return {parameters.span().subspan(lead), gradients.span().subspan(lead),
            batch_statistics.span(), running.span()};
  }
  std::size_t lead;
  DeviceFloats parameters, gradients, batch_statistics, running;
};

}  // namespace rueda::test

/// Two cases of `check(Precision)`: `name` in fp32 and "`name` in bf16", which is skipped where
/// there is no bf16.
#define TEST_CASE_OF_PRECISION(name, tags, check)          \
  TEST_CASE(name, tags) { check(rueda::Precision::fp32); } \
  TEST_CASE(name " in bf16", tags "[bf16]") { check(rueda::Precision::bf16); }
