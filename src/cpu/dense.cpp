#include <optional>

#include "operations.hpp"
#include "rueda/core/error.hpp"

namespace rueda::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::inner_product_forward;
using BackwardData = dnnl::inner_product_backward_data;
using BackwardWeights = dnnl::inner_product_backward_weights;

memory::desc matrix(int rows, int columns) {
  return {{rows, columns}, memory::data_type::f32, memory::format_tag::ab};
}

/// The classifier: small plain matrices that lie in the arenas as oneDNN takes them, so nothing is
/// packed.
class Dense final : public Operation {
 public:
  Dense(const OperationRequest& r, const DenseNode& dense)
      : r_(r),
        dense_(dense),
        source_(matrix(r.batch, r.graph.shape(r.input()).channels)),
        weights_(matrix(dense.units, r.graph.shape(r.input()).channels)),
        bias_(vector_desc(std::size_t(dense.units))),
        output_(matrix(r.batch, dense.units)),
        forward_desc_({r.forward_kind(), source_, weights_, bias_, output_}, user_scratchpad(),
                      r.context.engine) {
    r_.context.request_scratch(forward_desc_.scratchpad_desc().get_size());
    if (r_.mode != Mode::train) return;
    weights_desc_.emplace(BackwardWeights::desc{source_, weights_, bias_, output_},
                          user_scratchpad(), r_.context.engine, forward_desc_);
    data_desc_.emplace(BackwardData::desc{source_, weights_, output_}, user_scratchpad(),
                       r_.context.engine, forward_desc_);
    r_.context.request_scratch(weights_desc_->scratchpad_desc().get_size());
    r_.context.request_scratch(data_desc_->scratchpad_desc().get_size());
  }

  OperationNeeds needs() const override { return {.keeps_input = true}; }

  void bind(const OperationMemory& m) override {
    const Context& context = r_.context;
    const auto source = context.at(source_, m.inputs.front());
    const auto weights = context.at(weights_, r_.value(dense_.weight));
    forward_ = context.call<Forward>(forward_desc_,
                                     {{DNNL_ARG_SRC, source},
                                      {DNNL_ARG_WEIGHTS, weights},
                                      {DNNL_ARG_BIAS, context.at(bias_, r_.value(dense_.bias))},
                                      {DNNL_ARG_DST, context.at(output_, m.output)}});
    if (!weights_desc_) return;
    const auto gradient = context.at(output_, m.output_gradients.front());
    weights_gradient_ = context.call<BackwardWeights>(
        *weights_desc_, {{DNNL_ARG_SRC, source},
                         {DNNL_ARG_DIFF_DST, gradient},
                         {DNNL_ARG_DIFF_WEIGHTS, context.at(weights_, r_.gradient(dense_.weight))},
                         {DNNL_ARG_DIFF_BIAS, context.at(bias_, r_.gradient(dense_.bias))}});
    if (m.input_gradients.front() == nullptr) return;
    data_ = context.call<BackwardData>(
        *data_desc_, {{DNNL_ARG_DIFF_DST, gradient},
                      {DNNL_ARG_WEIGHTS, weights},
                      {DNNL_ARG_DIFF_SRC, context.at(source_, m.input_gradients.front())}});
  }

  void forward() override { forward_.run(r_.context.stream); }

  void backward() override {
    if (data_.primitive) data_.run(r_.context.stream);
    weights_gradient_.run(r_.context.stream);
  }

 private:
  OperationRequest r_;
  DenseNode dense_;
  memory::desc source_, weights_, bias_, output_;
  Forward::primitive_desc forward_desc_;
  std::optional<BackwardWeights::primitive_desc> weights_desc_;
  std::optional<BackwardData::primitive_desc> data_desc_;
  PrimitiveCall forward_, data_, weights_gradient_;
};

}  // namespace

std::unique_ptr<Operation> make(const OperationRequest& request, const DenseNode& dense) {
  const Node& before = request.graph.node(request.input());
  if (!std::holds_alternative<GlobalAveragePoolNode>(before.kind)) {
    throw RunError("layer " + request.self().name +
                   ": the cpu backend has dense layers only behind a global average pool");
  }
  return std::make_unique<Dense>(request, dense);
}

}  // namespace rueda::cpu
