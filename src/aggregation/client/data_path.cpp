#include "aggregation/client/data_path.hpp"

#include <string>

namespace cohom::offload {

namespace {

std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100) +
         " s";
}

}  // namespace

cohom_header blank_header(const PathSetup& setup) {
  cohom_header header{};
  header.magic = cohom_magic;
  header.version = cohom_packet_version;
  header.job = setup.membership.job.id();
  header.epoch = setup.admitted.epoch;
  header.key = setup.admitted.key;
  header.group = static_cast<__u16>(setup.admitted.number);
  header.worker = static_cast<__u16>(setup.membership.rank);
  return header;
}

Error too_late(std::chrono::milliseconds patience) {
  return {ErrorKind::transport, "a rank has not contributed within " + seconds_text(patience)};
}

Error too_silent(std::chrono::milliseconds patience) {
  return {ErrorKind::transport, "the aggregator has been silent for " + seconds_text(patience)};
}

}  // namespace cohom::offload
