#include "cpu/operations.hpp"

namespace rueda::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::inner_product_forward;
using BackwardData = dnnl::inner_product_backward_data;
using BackwardWeights = dnnl::inner_product_backward_weights;

memory::desc matrix(int rows, int columns) {
  return {{rows, columns}, memory::data_type::f32, memory::format_tag::ab};
}

/// The classifier: small plain matrices that lie in the arenas as oneDNN takes
/// them, so nothing is packed.
class Dense final : public PrimitiveOperation {
 public:
  Dense(const OperationRequest& r, const DenseNode& dense)
      : PrimitiveOperation(r),
        dense_(dense),
        source_(matrix(r.batch, r.graph.shape(r.input()).channels)),
        weights_(matrix(dense.units, r.graph.shape(r.input()).channels)),
        bias_(vector_desc(std::size_t(dense.units))),
        output_(matrix(r.batch, dense.units)),
        forward_desc_(
            r.context.plan<Forward>(r.forward_kind(), source_, weights_, bias_, output_)) {
    r.context.accept(forward_desc_, r.self().name, "forward");
    if (r.mode != Mode::train) return;
    weights_desc_ =
        r.context.plan<BackwardWeights>(source_, weights_, bias_, output_, forward_desc_);
    data_desc_ = r.context.plan<BackwardData>(source_, weights_, output_, forward_desc_);
    r.context.accept(weights_desc_, r.self().name, "weight gradient");
    r.context.accept(data_desc_, r.self().name, "data gradient");
  }

  OperationNeeds needs() const override { return {.keeps_input = true}; }

  void bind(const OperationMemory& m) override {
    const Context& context = r_.context;
    const auto source = context.at(source_, m.inputs.front());
    const auto weights = context.at(weights_, r_.value(dense_.weight));
    forward_ = {context.call<Forward>(forward_desc_,
                                      {{DNNL_ARG_SRC, source},
                                       {DNNL_ARG_WEIGHTS, weights},
                                       {DNNL_ARG_BIAS, context.at(bias_, r_.value(dense_.bias))},
                                       {DNNL_ARG_DST, context.at(output_, m.output)}})};
    if (!weights_desc_) return;
    const auto gradient = context.at(output_, m.output_gradients.front());
    if (m.input_gradients.front() != nullptr) {
      backward_.push_back(context.call<BackwardData>(
          data_desc_, {{DNNL_ARG_DIFF_DST, gradient},
                       {DNNL_ARG_WEIGHTS, weights},
                       {DNNL_ARG_DIFF_SRC, context.at(source_, m.input_gradients.front())}}));
    }
    backward_.push_back(context.call<BackwardWeights>(
        weights_desc_, {{DNNL_ARG_SRC, source},
                        {DNNL_ARG_DIFF_DST, gradient},
                        {DNNL_ARG_DIFF_WEIGHTS, context.at(weights_, r_.gradient(dense_.weight))},
                        {DNNL_ARG_DIFF_BIAS, context.at(bias_, r_.gradient(dense_.bias))}}));
  }

 private:
  DenseNode dense_;
  memory::desc source_, weights_, bias_, output_;
  Forward::primitive_desc forward_desc_;
  BackwardWeights::primitive_desc weights_desc_;
  BackwardData::primitive_desc data_desc_;
};

}  // namespace

std::unique_ptr<Operation> make(const OperationRequest& request, const DenseNode& dense) {
  return std::make_unique<Dense>(request, dense);
}

}  // namespace rueda::cpu
