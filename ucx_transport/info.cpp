#include <cohom/ucx.hpp>

#include "ucx_transport/check.hpp"
#include "ucx_transport/library_version.hpp"

#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

#include <memory>
#include <string>
#include <vector>

namespace cohom::ucx {

namespace {

/// The names of the resources that a component's memory domain opens.
void list_domain(uct_component_h component, const char* name, std::vector<Resource>& resources) {
  uct_md_config_t* config = nullptr;
  check(uct_md_config_read(component, nullptr, nullptr, &config), "uct_md_config_read");
  uct_md_h domain = nullptr;
  const ucs_status_t status = uct_md_open(component, name, config, &domain);
  uct_config_release(config);
  if (status != UCS_OK) return;  // a driver without its device
  uct_tl_resource_desc_t* found = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(domain, &found, &count) == UCS_OK) {
    for (unsigned i = 0; i < count; ++i)
      resources.push_back({.transport = found[i].tl_name, .device = found[i].dev_name});
    uct_release_tl_resource_list(found);
  }
  uct_md_close(domain);
}

void list_component(uct_component_h component, std::vector<Resource>& resources) {
  uct_component_attr_t attributes = {};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  check(uct_component_query(component, &attributes), "uct_component_query");
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  check(uct_component_query(component, &attributes), "uct_component_query");
  for (const auto& domain : domains) list_domain(component, domain.md_name, resources);
}

}  // namespace

std::string version() { return offload::to_string(library_version()); }

std::vector<Resource> resources() {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  check(uct_query_components(&components, &count), "uct_query_components");
  const auto release = [](uct_component_h* list) { uct_release_component_list(list); };
  const std::unique_ptr<uct_component_h, decltype(release)> owned(components, release);
  std::vector<Resource> all;
  for (unsigned i = 0; i < count; ++i) list_component(components[i], all);
  return all;
}

}  // namespace cohom::ucx
