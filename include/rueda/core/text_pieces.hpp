#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rueda {

/// A text that does not change any more and that several hold.
using SharedText = std::shared_ptr<const std::string>;

/// A text in pieces, one behind the other: it grows, and is held twice, without being copied.
using TextPieces = std::vector<SharedText>;

inline SharedText share(std::string text) {
  text.shrink_to_fit();
  return std::make_shared<const std::string>(std::move(text));
}

inline std::string join(const TextPieces& pieces) {
  std::string text;
  for (const SharedText& piece : pieces) text += *piece;
  return text;
}

}  // namespace rueda
