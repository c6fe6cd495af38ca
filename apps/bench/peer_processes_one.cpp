#include "peer_processes.h"

namespace espalier::bench {

Processes::Processes(int&, char**&) {}
Processes::~Processes() = default;
void Processes::wait_for_all() const {}
void Processes::give_up(int) const {}
std::int64_t Processes::largest(std::int64_t value) const { return value; }
std::int64_t Processes::sum(std::int64_t value) const { return value; }

}  // namespace espalier::bench
