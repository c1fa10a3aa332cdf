#include "summary.hpp"

#include <ostream>

#include "rueda/model/registry.hpp"
#include "rueda/report/model_summary.hpp"

namespace rueda {

void run_summary(const SummaryOptions& options, std::ostream& out) {
  const Graph graph = build_model(options.model, options.image_size, options.classes);
  out << model_summary(graph, options.batch_per_rank);
}

}  // namespace rueda
