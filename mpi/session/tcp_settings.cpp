#include "tcp_settings.hpp"

#include <cstdlib>

namespace rueda {

void prefer_tcp_streams() { setenv("OMPI_MCA_btl_tcp_flags", "0x1", 0); }

}  // namespace rueda
