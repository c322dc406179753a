#include <cohom/codec.hpp>
#include <cohom/version.hpp>

#include <iostream>

int main() {
  std::cout << "cohom " << cohom::version_string << "\n";
  for (const cohom::CodecInfo& codec : cohom::codecs()) std::cout << codec.name << "\n";
}
