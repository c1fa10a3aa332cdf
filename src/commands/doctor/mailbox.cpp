#include "mailbox.hpp"

#include <fstream>

#include <stdlib.h>

#include "facts_json.hpp"

namespace rueda::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStop = "stop";

/// Writes into a file that is there already: one that is not belongs to another file system.
bool write_existing(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::in | std::ios::out);
  file << text << std::flush;
  return file.good();
}

/// The file's line, if its writer has finished it.
std::string whole_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return file.eof() ? "" : line;  // no line end yet
}

bool make_empty(const fs::path& path) { return std::ofstream(path).good(); }

}  // namespace

std::string Mailbox::make(const fs::path& parent, int size) {
  std::string name = (parent / ".rueda-doctor-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return {};
  const Mailbox box(name, 0, size);
  bool made = make_empty(box.folder_ / kStop);
  for (int rank = 0; rank < size; ++rank) made = made && make_empty(box.file_of(rank));
  if (made) return name;
  box.remove();
  return {};
}

fs::path Mailbox::file_of(int rank) const { return folder_ / ("rank-" + std::to_string(rank)); }

bool Mailbox::reachable() const {
  return !folder_.empty() && std::ofstream(file_of(rank_), std::ios::in | std::ios::out).good();
}

bool Mailbox::put(const TransferFacts& mine) const {
  return !folder_.empty() && write_existing(file_of(rank_), line_of(mine) + "\n");
}

std::optional<TransferFacts> Mailbox::get(int rank) const {
  const std::string line = folder_.empty() ? "" : whole_line(file_of(rank));
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json.get<TransferFacts>();
}

void Mailbox::ask_to_stop() const {
  if (!folder_.empty()) write_existing(folder_ / kStop, "stop\n");
}

bool Mailbox::is_asked_to_stop() const {
  return !folder_.empty() && !whole_line(folder_ / kStop).empty();
}

void Mailbox::remove() const noexcept {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

}  // namespace rueda::doctor
