#include <optional>

#include "operations.hpp"
#include "primitive_call.hpp"
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
      : context_(r.context),
        graph_(r.graph),
        dense_(dense),
        source_(matrix(r.batch, r.graph.shape(r.input()).channels)),
        weights_(matrix(dense.units, r.graph.shape(r.input()).channels)),
        bias_(vector_desc(static_cast<std::size_t>(dense.units))),
        output_(matrix(r.batch, dense.units)),
        forward_desc_({r.mode == Mode::train ? dnnl::prop_kind::forward_training
                                             : dnnl::prop_kind::forward_inference,
                       source_, weights_, bias_, output_},
                      user_scratchpad(), r.context.engine) {
    context_.request_scratch(forward_desc_.scratchpad_desc().get_size());
    if (r.mode == Mode::train) plan_backward();
  }

  OperationNeeds needs() const override { return {.keeps_input = true}; }

  void bind(const OperationMemory& m) override {
    const auto source = context_.at(source_, m.inputs.front());
    const auto weights = context_.at(weights_, context_.value(graph_, dense_.weight));
    forward_.primitive = Forward(forward_desc_);
    forward_.arguments = {{DNNL_ARG_SRC, source},
                          {DNNL_ARG_WEIGHTS, weights},
                          {DNNL_ARG_BIAS, context_.at(bias_, context_.value(graph_, dense_.bias))},
                          {DNNL_ARG_DST, context_.at(output_, m.output)}};
    add_scratchpad(forward_, context_, forward_desc_);
    if (weights_desc_) bind_backward(m, source, weights);
  }

  void forward() override { forward_.run(context_.stream); }

  void backward() override {
    if (data_.primitive) data_.run(context_.stream);
    weights_gradient_.run(context_.stream);
  }

 private:
  void plan_backward() {
    weights_desc_.emplace(BackwardWeights::desc{source_, weights_, bias_, output_},
                          user_scratchpad(), context_.engine, forward_desc_);
    data_desc_.emplace(BackwardData::desc{source_, weights_, output_}, user_scratchpad(),
                       context_.engine, forward_desc_);
    context_.request_scratch(weights_desc_->scratchpad_desc().get_size());
    context_.request_scratch(data_desc_->scratchpad_desc().get_size());
  }

  void bind_backward(const OperationMemory& m, const memory& source, const memory& weights) {
    const auto output_gradient = context_.at(output_, m.output_gradients.front());
    weights_gradient_.primitive = BackwardWeights(*weights_desc_);
    weights_gradient_.arguments = {
        {DNNL_ARG_SRC, source},
        {DNNL_ARG_DIFF_DST, output_gradient},
        {DNNL_ARG_DIFF_WEIGHTS, context_.at(weights_, context_.gradient(graph_, dense_.weight))},
        {DNNL_ARG_DIFF_BIAS, context_.at(bias_, context_.gradient(graph_, dense_.bias))}};
    add_scratchpad(weights_gradient_, context_, *weights_desc_);
    if (m.input_gradients.front() == nullptr) return;
    data_.primitive = BackwardData(*data_desc_);
    data_.arguments = {{DNNL_ARG_DIFF_DST, output_gradient},
                       {DNNL_ARG_WEIGHTS, weights},
                       {DNNL_ARG_DIFF_SRC, context_.at(source_, m.input_gradients.front())}};
    add_scratchpad(data_, context_, *data_desc_);
  }

  Context& context_;
  const Graph& graph_;
  DenseNode dense_;
  memory::desc source_, weights_, bias_, output_;
  Forward::primitive_desc forward_desc_;
  std::optional<BackwardWeights::primitive_desc> weights_desc_;
  std::optional<BackwardData::primitive_desc> data_desc_;
  PrimitiveCall forward_, data_, weights_gradient_;
};

}  // namespace

std::unique_ptr<Operation> make_dense(const OperationRequest& request, const DenseNode& dense) {
  const Node& before = request.graph.node(request.input());
  if (!std::holds_alternative<GlobalAveragePoolNode>(before.kind)) {
    throw RunError("layer " + request.self().name +
                   ": the cpu backend has dense layers only behind a global average pool");
  }
  return std::make_unique<Dense>(request, dense);
}

}  // namespace rueda::cpu
