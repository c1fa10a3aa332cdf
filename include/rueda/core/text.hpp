#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rueda {

/// Text from a file as messages show it: at most 60 characters, and all but printable ASCII as
/// \xNN.
std::string printable(std::string_view text);

/// A constant text that has several owners.
using SharedText = std::shared_ptr<const std::string>;

/// A text in pieces, in order. It grows, and gets a second owner, without a copy.
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
