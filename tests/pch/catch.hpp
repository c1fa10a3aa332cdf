// std.hpp and what every test includes.
#include <catch2/catch.hpp>

#include "pch/std.hpp"
