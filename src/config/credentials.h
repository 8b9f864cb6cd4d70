// What proves to a daemon who we are. These are headers that the user gave, with ${VAR} and ${VAR:-default}
// for what shouldn't be on a command line. Their values appear nowhere but in requests.
//
// Plain data. Any thread.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "base/environment.h"

namespace mcpivot {

class Credentials {
 public:
  // Each header as "Name: value". The error says which header is wrong, or which variable is missing, but
  // reveals no value.
  static std::expected<Credentials, std::string> from_headers(const std::vector<std::string>& headers,
                                                              const Variable& variable);

  // As in a request, each with its line end.
  const std::string& lines() const { return lines_; }
  bool has(std::string_view name) const;
  // What to check when the daemon refuses them.
  std::string advice() const;

 private:
  struct Header {
    std::string name;
    std::vector<std::string> variables;
  };
  std::vector<Header> headers_;
  std::string lines_;
};

}  // namespace mcpivot
