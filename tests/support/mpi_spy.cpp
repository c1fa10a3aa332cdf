#include "mpi_spy.hpp"

#include <utility>

#include <mpi.h>

namespace rueda::test {
namespace {

MpiSpy* active = nullptr;

}  // namespace

MpiSpy::MpiSpy(std::function<bool(const void*)> is_device) : is_device_(std::move(is_device)) {
  active = this;
}

MpiSpy::~MpiSpy() { active = nullptr; }

void MpiSpy::look_at(const void* pointer, int count) {
  if (count == 0) return;
  ++(is_device_(pointer) ? seen_.device : seen_.host);
}

}  // namespace rueda::test

extern "C" int MPI_Sendrecv(const void* send, int send_count, MPI_Datatype send_type, int to,
                            int send_tag, void* receive, int receive_count,
                            MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm,
                            MPI_Status* status) {
  if (rueda::test::active != nullptr) {
    rueda::test::active->look_at(send, send_count);
    rueda::test::active->look_at(receive, receive_count);
  }
  return PMPI_Sendrecv(send, send_count, send_type, to, send_tag, receive, receive_count,
                       receive_type, from, receive_tag, comm, status);
}

extern "C" int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type,
                             MPI_Op operation, MPI_Comm comm) {
  if (rueda::test::active != nullptr) rueda::test::active->look_at(receive, count);
  return PMPI_Allreduce(send, receive, count, type, operation, comm);
}
