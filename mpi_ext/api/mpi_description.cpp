#include "mpi_ext/api/mpi_description.hpp"

#include "mpi_ext/base/mpi_check.hpp"

namespace cohom::mpi {

Descriptions descriptions_of(const PlanDescription& plan) {
  return {{"codec", plan.codec},
          {"algorithm", plan.algorithm},
          {"other_algorithm", plan.other_algorithm},
          {"third_algorithm", plan.third_algorithm},
          {"third_codec", plan.third_codec},
          {"reason", plan.reason},
          {"not_offloaded", plan.not_offloaded},
          {"bypass", plan.bypass ? "true" : "false"},
          {"segment", std::to_string(plan.segment)},
          {"memory", plan.memory},
          {"path", plan.path},
          {"workspace_bytes", std::to_string(plan.workspace_bytes)},
          {"state_bytes", std::to_string(plan.state_bytes)},
          {"agreement_rounds", std::to_string(plan.agreement_rounds)}};
}

MPI_Info info_of(const Descriptions& descriptions) {
  MPI_Info info = MPI_INFO_NULL;
  check(MPI_Info_create(&info), "MPI_Info_create");
  for (const auto& [key, value] : descriptions) {
    std::string text = value.empty() ? "-" : value;  // MPI takes no empty text
    if (text.size() >= MPI_MAX_INFO_VAL)
      text.replace(MPI_MAX_INFO_VAL - 4, std::string::npos, "...");
    if (const int code = MPI_Info_set(info, std::string(key).c_str(), text.c_str());
        code != MPI_SUCCESS) {
      MPI_Info_free(&info);
      check(code, "MPI_Info_set");
    }
  }
  return info;
}

}  // namespace cohom::mpi
