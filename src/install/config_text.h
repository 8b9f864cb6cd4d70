// mcpivot's configuration while servers are added or removed: the text stays as people wrote it, except for
// these entries.
//
// Errors name the file and say what to do. Any thread.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "install/import_rules.h"
#include "install/json_edit.h"

namespace mcpivot {

// The error about a file that can't be read or edited.
std::unexpected<std::string> broken(const std::string& file, const std::string& words);

class ConfigText {
 public:
  static std::expected<ConfigText, std::string> open(const std::string& file, std::string text);

  const std::string& text() const { return text_; }
  std::optional<JsoncValue> find(const std::string& name) const;
  std::vector<std::string> names() const;
  std::expected<void, std::string> add(const std::string& name, const Imported& server);
  std::expected<void, std::string> remove(const std::string& name);

 private:
  explicit ConfigText(std::string text) : text_(std::move(text)) {}
  JsonPath path() const;
  std::expected<void, std::string> take(EditedText edited);

  std::string text_;
};

}  // namespace mcpivot
