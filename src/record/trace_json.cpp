#include <algorithm>
#include <limits>
#include <ranges>

#include "json_parts.hpp"
#include "rueda/core/files.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda {
namespace {

constexpr std::array<const char*, 3> kLaneNames = {"training", "buckets", "all-reduce"};

/// A name or an order that a viewer shows.
Json metadata(const char* what, std::size_t rank) {
  return {{"name", what}, {"ph", "M"}, {"pid", rank}};
}

void add_names(Json& events, const RunRecord& run, std::size_t rank) {
  const std::string host = rank < run.ranks.size() ? " on " + run.ranks[rank].host : "";
  Json process = metadata("process_name", rank);
  process["args"]["name"] = "rank " + std::to_string(rank) + host;
  events.push_back(process);
  for (std::size_t lane = 0; lane < kLaneNames.size(); ++lane) {
    Json name = metadata("thread_name", rank);
    name["args"]["name"] = kLaneNames[lane];
    name["tid"] = lane;
    events.push_back(name);
    Json order = metadata("thread_sort_index", rank);
    order["tid"] = lane;
    order["args"]["sort_index"] = lane;
    events.push_back(order);
  }
}

Json span_json(const TraceSpan& span, std::size_t rank, double origin) {
  Json j;
  j["name"] = span.name.data();
  j["cat"] = kLaneNames.at(std::size_t(span.lane));
  j["ph"] = "X";
  j["pid"] = rank;
  j["tid"] = int(span.lane);
  j["ts"] = (span.begin - origin) * 1e6;
  j["dur"] = (span.end - span.begin) * 1e6;
  Json& args = j["args"];
  args["step"] = span.step;
  if (span.bucket >= 0) args["bucket"] = span.bucket;
  if (span.part >= 0) args["ring_step"] = span.part;
  if (span.to >= 0) args["to_rank"] = span.to;
  if (span.from >= 0) args["from_rank"] = span.from;
  return j;
}

double first_moment(const RunRecord& run) {
  double first = std::numeric_limits<double>::infinity();
  for (const TraceSpan& span : run.trace | std::views::join) first = std::min(first, span.begin);
  return first;
}

double clock_error(const RunRecord& run) {
  double error = 0;
  for (const EpochRecord& epoch : run.epochs)
    for (const ClockFit& clock : epoch.clocks) error = std::max(error, clock.error());
  return error;
}

}  // namespace

std::string to_trace_json(const RunRecord& run) {
  Json j;
  j["displayTimeUnit"] = "ms";
  j["otherData"]["program"] = "rueda";
  j["otherData"]["command_line"] = run.command_line;
  j["otherData"]["clock_error_us"] = clock_error(run) * 1e6;
  Json& events = j["traceEvents"];
  events = Json::array();
  const double origin = first_moment(run);
  for (std::size_t rank = 0; rank < run.trace.size(); ++rank) {
    add_names(events, run, rank);
    for (const TraceSpan& span : run.trace[rank]) events.push_back(span_json(span, rank, origin));
  }
  return text_of(j) + "\n";
}

void write_trace(const std::filesystem::path& path, const RunRecord& run) {
  write_atomically(path, to_trace_json(run));
}

}  // namespace rueda
