#include "complaint.hpp"

#include "module.hpp"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace cohom::ptx {

std::string readable_name(const std::string& mangled) {
  if (!mangled.starts_with("_Z")) return mangled;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return mangled;
  std::string name = text.get();
  for (const std::string_view dropped :
       {"cohom::kernels::device::", "cohom::kernels::", "(anonymous namespace)::", "void "})
    for (std::size_t at = 0; (at = name.find(dropped)) != std::string::npos;)
      name.erase(at, dropped.size());
  return name;
}

std::string place_of(const Thread& thread, const Instruction& instruction) {
  const Kernel& kernel = *thread.block->kernel;
  const Origin& origin = kernel.origin(instruction);
  const std::string file = kernel.module->file_name(origin.source_file);
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(origin.source_line) +
         " (PTX line " + std::to_string(origin.line) + ": " + origin.text + ") block " +
         std::to_string(thread.block->number) + " thread " + std::to_string(thread.number);
}

void complain(const Thread& thread, const Instruction& instruction, const std::string& what) {
  Kernel& kernel = *thread.block->kernel;
  const std::string kind = what.substr(0, what.find(" by block")) + " at PTX line " +
                           std::to_string(kernel.origin(instruction).line);
  if (kernel.complaints[kind]++ != 0) return;
  std::fprintf(stderr, "PTX: %s: %s: %s\n", readable_name(kernel.name).c_str(), what.c_str(),
               place_of(thread, instruction).c_str());
}

void complain_of_fault(Kernel& kernel, const std::string& what) {
  ++kernel.complaints["fault: " + what];
  std::fprintf(stderr, "PTX: %s: fault: %s\n", readable_name(kernel.name).c_str(), what.c_str());
}

}  // namespace cohom::ptx
