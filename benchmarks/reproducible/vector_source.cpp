#include "reproducible/vector_source.hpp"

namespace cohom::bench {

VectorSource::VectorSource(const std::string& spec, std::uint64_t seed, std::size_t vectors,
                           std::size_t elements)
    : elements_(elements) {
  inputs_.push_back(make_input(spec, seed, 0));
  const std::size_t rows = inputs_.front()->rows();
  const std::size_t needed = rows == 0 ? vectors : rows;
  while (inputs_.size() < needed)
    inputs_.push_back(make_input(spec, seed, static_cast<int>(inputs_.size())));
  for (const auto& input : inputs_) input->set_length(elements);
}

void VectorSource::generate(std::size_t vector, std::size_t first, std::span<double> out) {
  inputs_[vector % inputs_.size()]->generate(vector / inputs_.size() * elements_ + first, out);
}

}  // namespace cohom::bench
