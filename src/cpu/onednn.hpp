#pragma once

#include <oneapi/dnnl/dnnl.hpp>

static_assert(DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP,
              "rueda needs a oneDNN that was built for OpenMP (ONEDNN_CPU_RUNTIME=OMP)");

namespace rueda::cpu {
/// Batch norm's backward does not need the shift, but oneDNN 2 refuses to run
/// without it, and oneDNN 3 with it.
inline constexpr bool kBackwardTakesShift = DNNL_VERSION_MAJOR < 3;
}  // namespace rueda::cpu

#if DNNL_VERSION_MAJOR < 3

#include <cstddef>
#include <tuple>
#include <utility>

/// src/cpu is written for oneDNN 3. Under these names oneDNN 2's primitives take
/// oneDNN 3's arguments; all other names are oneDNN's own.
namespace rueda::cpu::dnnl {

using namespace ::dnnl;

/// A primitive_desc takes the engine, what `Primitive` computes, `hints` plans of
/// forward, attributes. Of `twins` descriptors after the first argument oneDNN 2
/// takes one fewer, because it knows only equal ones.
template <typename Primitive, std::size_t hints = 0, std::size_t twins = 0>
struct PlannedAs3 : Primitive {
  class primitive_desc : public Primitive::primitive_desc {
   public:
    primitive_desc() = default;
    template <typename... Arguments>
    primitive_desc(const engine& where, const Arguments&... arguments)
        : primitive_desc(where, std::tie(arguments...),
                         std::make_index_sequence<sizeof...(arguments) - twins - hints - 1>(),
                         std::make_index_sequence<hints>()) {}

   private:
    template <typename Arguments, std::size_t... i, std::size_t... hint>
    primitive_desc(const engine& where, const Arguments& a, std::index_sequence<i...>,
                   std::index_sequence<hint...>)
        : Primitive::primitive_desc(
              typename Primitive::desc(std::get < i == 0 ? i : i + twins > (a)...),
              std::get<std::tuple_size_v<Arguments> - 1>(a), where,
              std::get<twins + sizeof...(i) + hint>(a)...) {}
  };
  PlannedAs3(const primitive_desc& planned) : Primitive(planned) {}
};

using convolution_forward = PlannedAs3<::dnnl::convolution_forward>;
using convolution_backward_data = PlannedAs3<::dnnl::convolution_backward_data, 1>;
using convolution_backward_weights = PlannedAs3<::dnnl::convolution_backward_weights, 1>;
using inner_product_forward = PlannedAs3<::dnnl::inner_product_forward>;
using inner_product_backward_data = PlannedAs3<::dnnl::inner_product_backward_data, 1>;
using inner_product_backward_weights = PlannedAs3<::dnnl::inner_product_backward_weights, 1>;
using batch_normalization_forward = PlannedAs3<::dnnl::batch_normalization_forward, 0, 1>;
using batch_normalization_backward = PlannedAs3<::dnnl::batch_normalization_backward, 1, 1>;
using matmul = PlannedAs3<::dnnl::matmul>;

}  // namespace rueda::cpu::dnnl

#endif
