#pragma once

#include <stdexcept>
#include <string>

#include <cudnn_graph.h>

namespace rueda::standin {

/// What a function of cuDNN answers when it cannot do what was asked.
struct Refusal : std::runtime_error {
  Refusal(cudnnStatus_t status_, const std::string& message)
      : std::runtime_error(message), status(status_) {}
  cudnnStatus_t status;
};

/// Throws a Refusal unless `holds`.
inline void require(bool holds, const std::string& message,
                    cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM) {
  if (!holds) throw Refusal(status, message);
}

/// Keeps `message` for cudnnGetLastErrorString.
void keep_message(const std::string& message);

/// Calls `body`; what it throws becomes a status and a message.
template <typename Body>
cudnnStatus_t guarded(const Body& body) {
  try {
    body();
    return CUDNN_STATUS_SUCCESS;
  } catch (const Refusal& refusal) {
    keep_message(refusal.what());
    return refusal.status;
  } catch (const std::exception& error) {
    keep_message(error.what());
    return CUDNN_STATUS_INTERNAL_ERROR;
  }
}

}  // namespace rueda::standin
