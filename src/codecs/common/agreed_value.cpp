#include "codecs/common/agreed_value.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom {

void refuse_agreed(std::string_view codec, std::string_view round, std::uint64_t value,
                   std::string_view right) {
  std::string text(codec);
  text.append(": round \"").append(round).append("\" agreed on ").append(std::to_string(value));
  text.append(", which no ranks can have sent (").append(right);
  text.append("); a message was changed on its way");
  throw Error(ErrorKind::transport, text);
}

}  // namespace cohom
