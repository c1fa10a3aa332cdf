#pragma once

#include <string>
#include <string_view>

namespace rueda {

/// `text` out of a file made fit for a message: at most 60 characters, anything but printable ASCII
/// as \xNN.
std::string printable(std::string_view text);

}  // namespace rueda
