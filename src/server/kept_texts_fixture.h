// Files in memory, for tests of what is kept for the next run.
//
// One thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "server/files.h"

namespace mcpivot {

class KeptTexts final : public Files {
 public:
  std::optional<FileFacts> program_of(const Command&) const override { return program; }
  std::optional<FileFacts> stoppable_program_of(const Command&) const override { return std::nullopt; }
  std::optional<std::string> load(Shelf, const std::string& name) const override {
    const auto found = texts.find(name);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  }
  bool save(Shelf, const std::string& name, std::string_view text) override {
    texts[name] = text;
    ++saves;
    return true;
  }

  std::optional<FileFacts> program;
  std::map<std::string, std::string> texts;
  int saves = 0;
};

}  // namespace mcpivot
