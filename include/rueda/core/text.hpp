#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rueda {

/// `text` out of a file made fit for a message: at most 60 characters, anything but printable ASCII
/// as \xNN.
std::string printable(std::string_view text);

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
