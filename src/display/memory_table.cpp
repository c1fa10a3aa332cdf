#include "rueda/display/memory_table.hpp"

#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"

namespace rueda {
namespace {

std::string text_of(std::size_t bytes) { return bytes_text(static_cast<double>(bytes)); }

void add_group(TextTable& table, const MemoryNeed& need, bool of_batch) {
  table.add({of_batch ? "batch" : "model", text_of(of_batch ? need.of_batch() : need.of_model()),
             of_batch ? "grows with the batch" : "the same for every batch"});
  for (const MemoryPart& part : kMemoryParts) {
    if (part.grows_with_batch != of_batch || need.*part.bytes == 0) continue;
    table.add({std::string("  ") + part.name, text_of(need.*part.bytes), part.meaning});
  }
}

}  // namespace

std::string memory_table(const MemoryNeed& need) {
  TextTable table({Align::left, Align::right, Align::left}, 2);
  add_group(table, need, false);
  add_group(table, need, true);
  table.add({"total", text_of(need.total()), ""});
  return table.text();
}

std::string largest_batch_summary(const std::string& memory, std::size_t batch,
                                  const MemoryNeed& need) {
  if (batch == 0) {
    return "Not even a batch of 1 fits into " + memory + ": it takes " + text_of(need.total()) +
           "\n";
  }
  return "Largest batch that fits into " + memory + ": " + counted(batch, "image") + " per rank\n" +
         memory_table(need);
}

std::string shortage_text(const MemoryShortage& s, const std::vector<std::string>& remedies) {
  const std::string shared =
      s.sharers > 1 ? " (a share of " + counted(s.sharers, "rank") + ")" : std::string();
  std::string text = "out of memory: training with " + counted(s.batch, "image") +
                     " per rank and micro-batch takes " + text_of(s.need) + ", and " + s.place +
                     " has " + text_of(s.free) + " free" + shared + "; ";
  if (s.batch_is_settled) {
    text += "the global batch is that of the run which is resumed: resume on more ranks";
  } else if (s.largest == 0) {
    text += "not even one image fits";
  } else {
    text += "the largest batch that fits is " + std::to_string(s.largest) +
            ": give --batch-per-rank " + std::to_string(s.largest) + " or --batch-per-rank max";
  }
  for (std::size_t i = 0; i < remedies.size(); ++i) {
    const bool first = i == 0 && s.largest == 0 && !s.batch_is_settled;
    text += (first ? ": give " : ", or ") + remedies[i];
  }
  return text;
}

}  // namespace rueda
