#include "print_error.hpp"

#include <iostream>

#include "wiring/launcher_env.hpp"

namespace rueda {

void complain(const std::string& message) { std::cerr << "rueda: " + message + '\n' << std::flush; }

Told tell(const Error& error) {
  if (speaks_for_all()) complain(error.what());
  return {error.code()};
}

}  // namespace rueda
