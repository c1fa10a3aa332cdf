#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.hpp"
#include "record/json_parts.hpp"
#include "record/run_json.hpp"

namespace rueda {
namespace {

/// Processes and threads of a trace count from 1: viewers take 0 for an idle one.
std::size_t process_of(std::size_t rank) { return rank + 1; }
std::size_t thread_of(std::size_t lane) { return lane + 1; }

constexpr std::array<const char*, 3> kLaneNames = {"training", "buckets", "all-reduce"};

/// A name that a viewer shows.
Json metadata(const char* what, std::size_t rank, const char* key, const Json& value) {
  return {{"name", what}, {"ph", "M"}, {"pid", process_of(rank)}, {"args", {{key, value}}}};
}

/// The names of a rank's process and rows.
std::vector<Json> names_of(const RunRecord& run, std::size_t rank) {
  std::vector<Json> events;
  std::string host;
  if (rank < run.ranks.size()) host = " on " + run.ranks[rank].host;
  events.push_back(metadata("process_name", rank, "name", fmt::format("rank {}{}", rank, host)));
  for (std::size_t lane = 0; lane < kLaneNames.size(); ++lane) {
    events.push_back(metadata("thread_name", rank, "name", kLaneNames[lane]));
    events.back()["tid"] = thread_of(lane);
    events.push_back({{"name", "thread_sort_index"},
                      {"ph", "M"},
                      {"pid", process_of(rank)},
                      {"tid", thread_of(lane)},
                      {"args", {{"sort_index", lane}}}});
  }
  return events;
}

Json span_json(const TraceSpan& span, std::size_t rank, double origin) {
  Json j = {{"name", span.name.data()},
            {"cat", kLaneNames.at(std::size_t(span.lane))},
            {"ph", "X"},
            {"pid", process_of(rank)},
            {"tid", thread_of(std::size_t(span.lane))},
            {"ts", (span.begin - origin) * 1e6},
            {"dur", (span.end - span.begin) * 1e6}};
  Json& args = j["args"];
  args["step"] = span.step;
  if (span.bucket >= 0) args["bucket"] = span.bucket;
  if (span.part >= 0) args["ring_step"] = span.part;
  if (span.to >= 0) args["to_rank"] = span.to;
  if (span.from >= 0) args["from_rank"] = span.from;
  return j;
}

double first_moment(const RunRecord& run) {
  double first = INFINITY;
  for (const TraceSpan& span : run.trace | std::views::join) first = std::min(first, span.begin);
  return first;
}

using PutEvent = std::function<void(const Json&)>;

/// The spans in which a rank sends to another, as far as they have been looked through. Messages
/// between two ranks arrive in the order in which they were sent.
class Sends {
 public:
  Sends(const std::vector<TraceSpan>& spans, std::size_t to) : spans_(spans), to_(int(to)) {}

  /// The next one, null if the step has no more.
  const TraceSpan* next(std::uint32_t step) {
    while (at_ < spans_.size() && spans_[at_].step <= step) {
      const TraceSpan& span = spans_[at_++];
      if (span.step == step && span.to == to_) return &span;
    }
    return nullptr;
  }

 private:
  const std::vector<TraceSpan>& spans_;
  int to_;
  std::size_t at_ = 0;
};

/// One end of an arrow, in the span of the row that is open at that time.
Json arrow_end(const char* kind, std::size_t id, std::size_t rank, double time, double origin) {
  Json j = {{"name", "message"},
            {"cat", kLaneNames.at(std::size_t(TraceLane::all_reduce))},
            {"ph", kind},
            {"id", id},
            {"pid", process_of(rank)},
            {"tid", thread_of(std::size_t(TraceLane::all_reduce))},
            {"ts", (time - origin) * 1e6}};
  if (*kind == 'f') j["bp"] = "e";
  return j;
}

/// Perfetto points an arrow from the span that began first to the other. A receiver that waited
/// therefore has a span in its own that begins when its partner's does.
void put_arrow(const PutEvent& put, std::size_t id, const TraceSpan& sent, std::size_t receiver,
               const TraceSpan& received, double origin) {
  const double begin = std::max(sent.begin, received.begin);
  if (begin > received.end) return;  // by the clocks' error
  put(arrow_end("s", id, std::size_t(received.from), sent.begin, origin));
  if (begin > received.begin) {
    TraceSpan transfer = received;
    transfer.begin = begin;
    transfer.to = -1;
    transfer.set_name("transfer");
    put(span_json(transfer, receiver, origin));
  }
  put(arrow_end("f", id, receiver, begin, origin));
}

/// An arrow for each message between traced ranks. The spans come before: of events of the same
/// time, a viewer takes the first in the file first.
void put_arrows(const PutEvent& put, const RunRecord& run, double origin) {
  std::size_t id = 0;
  for (std::size_t rank = 0; rank < run.trace.size(); ++rank) {
    if (run.trace[rank].empty()) continue;  // most, of many ranks
    std::vector<Sends> partners;
    for (const auto& spans : run.trace) partners.emplace_back(spans, rank);
    for (const TraceSpan& span : run.trace[rank]) {
      if (span.from < 0 || std::size_t(span.from) >= partners.size()) continue;
      const TraceSpan* sent = partners[std::size_t(span.from)].next(span.step);
      if (sent) put_arrow(put, ++id, *sent, rank, span, origin);
    }
  }
}

/// An event at a time: as one document they would take many times the memory of the spans.
void put_trace(const TextSink& put, const RunRecord& run) {
  const Json about = {{"program", "rueda"},
                      {"command_line", run.command_line},
                      {"clock_error_us", run.clock_error * 1e6}};
  put("{\"displayTimeUnit\":\"ms\",\"otherData\":" + text_of(about) + ",\"traceEvents\":[");
  std::string_view before = "\n";
  const auto put_event = [&](const Json& event) {
    put(before);
    put(text_of(event));
    before = ",\n";
  };
  const double origin = first_moment(run);
  for (std::size_t rank = 0; rank < run.trace.size(); ++rank) {
    if (run.trace[rank].empty()) continue;
    for (const Json& name : names_of(run, rank)) put_event(name);
    for (const TraceSpan& span : run.trace[rank]) put_event(span_json(span, rank, origin));
  }
  put_arrows(put_event, run, origin);
  put("\n]}\n");
}

}  // namespace

std::string to_trace_json(const RunRecord& run) {
  std::string text;
  put_trace([&text](std::string_view piece) { text += piece; }, run);
  return text;
}

void write_trace(const std::filesystem::path& path, const RunRecord& run) {
  write_output(path, [&run](const TextSink& put) { put_trace(put, run); });
}

}  // namespace rueda
