// The names within a schema document: "$id" names a part of it (a resource), "$anchor" a place in such a
// part, and "$ref" refers to either, or to a place by JSON pointer.
//
// Borrows the document, which must outlive it.
//
// One thread.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

namespace mcpivot::schema {

class References {
 public:
  using Resource = std::size_t;
  struct Target {
    const boost::json::value* schema;
    Resource resource;
  };

  // Resource 0 is the document.
  explicit References(const boost::json::value& document);

  // Adds a schema with an "$id" that was found in `within`. Returns the resource that it begins.
  Resource add_resource(Resource within, std::string_view id, const boost::json::value& schema);
  void add_anchor(Resource within, std::string_view name, const boost::json::value& schema);
  // The error completes a sentence that begins with the reference.
  std::expected<Target, std::string> find(Resource from, std::string_view reference) const;

 private:
  struct Part {
    std::string uri;
    const boost::json::value* root;
  };
  std::vector<Part> parts_;
  std::map<std::string, Resource, std::less<>> by_uri_;
  std::map<std::pair<Resource, std::string>, const boost::json::value*> anchors_;
};

}  // namespace mcpivot::schema
