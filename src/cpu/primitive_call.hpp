#pragma once

#include <unordered_map>
#include <utility>

#include <oneapi/dnnl/dnnl.hpp>

#include "context.hpp"

namespace rueda::cpu {

/// A primitive with its arguments, fixed once and executed many times.
struct PrimitiveCall {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;

  void run(dnnl::stream& stream) { primitive.execute(stream, arguments); }
};

/// Adds the scratchpad that `descriptor` asks for, `offset` bytes into the shared scratch area.
template <typename PrimitiveDesc>
void add_scratchpad(PrimitiveCall& call, const Context& context, const PrimitiveDesc& descriptor,
                    std::size_t offset = 0) {
  const auto desc = descriptor.scratchpad_desc();
  if (desc.get_size() == 0) return;
  call.arguments.emplace(DNNL_ARG_SCRATCHPAD, context.at(desc, context.scratch->data() + offset));
}

/// Adds the workspace that the forward primitive described by `forward` keeps for backward, if any.
template <typename PrimitiveDesc>
void add_workspace(PrimitiveCall& call, const Context& context, const PrimitiveDesc& forward,
                   std::byte* workspace) {
  if (workspace == nullptr) return;
  call.arguments.emplace(DNNL_ARG_WORKSPACE, context.at(forward.workspace_desc(), workspace));
}

}  // namespace rueda::cpu
