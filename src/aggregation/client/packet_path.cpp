#include "aggregation/client/packet_path.hpp"

#include "aggregation/client/packet_socket.hpp"
#include "aggregation/client/slot_engine.hpp"
#include "aggregation/net/endpoint.hpp"
#include "aggregation/net/random_word.hpp"
#include "aggregation/protocol/hello.hpp"

#include <poll.h>

namespace cohom::offload {

namespace {

constexpr int milliseconds_between_hellos = 20;

class PacketPath final : public DataPath {
 public:
  explicit PacketPath(const PathSetup& setup)
      : hello_(make_hello({.job = setup.membership.job.id(),
                           .epoch = setup.admitted.epoch,
                           .key = setup.admitted.key,
                           .group = setup.admitted.number,
                           .worker = static_cast<std::uint32_t>(setup.membership.rank),
                           .own_group = setup.admitted.number,
                           .nonce = random_word()})),
        socket_(resolve_data_address(setup.admitted.data_address, setup.control), setup.options),
        engine_(socket_, setup) {}

  bool meet() override {
    socket_.send_now(hello_);
    pollfd waiting{socket_.descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, milliseconds_between_hellos);
    return waiting.revents != 0 && socket_.has_answer(hello_);
  }
  void enter(ReductionSequence& reductions) override { engine_.enter(reductions); }
  void leave(const ReductionSequence& reductions) override { engine_.leave(reductions); }
  void progress() override { engine_.progress(); }
  [[nodiscard]] const PathCounters& counters() const override { return engine_.counters(); }

 private:
  cohom_header hello_;
  PacketSocket socket_;
  SlotEngine engine_;
};

}  // namespace

std::unique_ptr<DataPath> make_packet_path(const PathSetup& setup) {
  return std::make_unique<PacketPath>(setup);
}

}  // namespace cohom::offload
