#include "schema/references.h"

#include "schema/uri.h"

namespace mcpivot::schema {

References::References(const boost::json::value& document) : parts_{{.uri = {}, .root = &document}} {
  by_uri_.emplace(std::string(), 0);
}

References::Resource References::add_resource(Resource within, std::string_view id,
                                              const boost::json::value& schema) {
  const std::string uri = resolve_uri(parts_[within].uri, id);
  if (&schema == parts_[0].root) {
    parts_[0].uri = uri;
    by_uri_.emplace(uri, 0);
    return 0;
  }
  const Resource added = parts_.size();
  parts_.push_back({.uri = uri, .root = &schema});
  by_uri_.emplace(uri, added);
  return added;
}

void References::add_anchor(Resource within, std::string_view name, const boost::json::value& schema) {
  anchors_.emplace(std::pair(within, std::string(name)), &schema);
}

std::expected<References::Target, std::string> References::find(Resource from,
                                                                std::string_view reference) const {
  Resource resource = from;
  if (!reference.starts_with('#')) {
    const auto found = by_uri_.find(resolve_uri(parts_[from].uri, reference));
    if (found == by_uri_.end())
      return std::unexpected("points outside it; only references within the schema are followed");
    resource = found->second;
  }
  const std::string fragment = fragment_of(reference);
  const boost::json::value* root = parts_[resource].root;
  if (fragment.empty()) return Target{root, resource};
  const boost::json::value* target = nullptr;
  if (fragment.starts_with('/')) {
    boost::system::error_code error;
    target = root->find_pointer(fragment, error);
  } else if (const auto anchor = anchors_.find(std::pair(resource, fragment)); anchor != anchors_.end()) {
    target = anchor->second;
  }
  if (target == nullptr) return std::unexpected("points to nothing in it");
  return Target{target, resource};
}

}  // namespace mcpivot::schema
