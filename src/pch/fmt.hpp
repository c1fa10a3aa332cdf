// std.hpp and what formats text.
#include <fmt/format.h>

#include "std.hpp"
