#include "entrants.hpp"

#include <algorithm>

#include "rueda/core/error.hpp"

namespace rueda::bench {

Entrant make_entrant(Stage& stage, const std::string& name, std::unique_ptr<AllReduce> reduce) {
  Entrant entrant{name, std::move(reduce)};
  const auto arena = entrant.reduce->arena();
  if (!arena.empty()) entrant.arena = make_buffer(stage.backend(), arena);
  return entrant;
}

Contestant contestant_of(const Entrant& entrant, Buffer& common, std::size_t floats) {
  const bool fits = entrant.arena && entrant.arena->floats().size() >= floats;
  return {entrant.reduce.get(), fits ? entrant.arena.get() : &common};
}

std::unique_ptr<AllReduce> try_all_reduce(Stage& stage, const ReduceSettings& settings,
                                          std::size_t floats, std::string& refusal) {
  std::unique_ptr<AllReduce> made;
  std::string mine;
  try {
    made = make_all_reduce(settings, stage.place(floats));
  } catch (const InputError& error) {
    mine = error.what();
  }
  const auto refusals = all_gather_text(stage.world(), mine);
  const auto said = std::find_if(refusals.begin(), refusals.end(),
                                 [](const std::string& text) { return !text.empty(); });
  if (said == refusals.end()) return made;
  refusal = *said;
  return nullptr;
}

Field make_field(Stage& stage, const Entries& entries, const ReduceSettings& common,
                 std::size_t floats) {
  Field field;
  for (const Entry& entry : entries) {
    ReduceSettings settings = common;
    settings.algorithm = entry.algorithm;
    settings.order = entry.order;
    const bool rounds = settings.wire != Wire::fp32 && settings.order == ReduceOrder::fixed;
    std::string refusal = rounds ? "the fixed order goes over the wire in fp32 only" : "";
    auto reduce = rounds ? nullptr : try_all_reduce(stage, settings, floats, refusal);
    if (reduce) {
      field.entrants.push_back(make_entrant(stage, entry.name, std::move(reduce)));
    } else if (entries.all) {
      field.left_out.emplace_back(entry.name, refusal);
    } else {
      throw_agreed(ExitCode::bad_input, "--algorithms '" + entry.name + "': " + refusal);
    }
  }
  return field;
}

}  // namespace rueda::bench
