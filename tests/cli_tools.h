// For tests of CLI tools: a fake CLI with a schema of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "lives.h"

namespace harness {

// A tool of the fake CLI. `properties` as in JSON Schema; `more` are further members.
inline boost::json::object cli_tool(std::string_view name, const std::vector<std::string>& words,
                                    const boost::json::object& properties = {},
                                    const boost::json::object& more = {}) {
  boost::json::object tool{{"name", name},
                           {"description", "Does " + std::string(name) + "."},
                           {"parameters", {{"properties", properties}}},
                           {"cli_command", boost::json::array(words.begin(), words.end())}};
  for (const auto& member : more) tool[member.key()] = member.value();
  return tool;
}

inline const boost::json::object any_string{{"type", "string"}};

class FakeCli {
 public:
  explicit FakeCli(const std::vector<boost::json::object>& tools = {}) { describe(tools); }

  void describe(const std::vector<boost::json::object>& tools) {
    describe(boost::json::serialize(
        boost::json::object{{"tools", boost::json::array(tools.begin(), tools.end())}}));
  }
  // Whatever the schema command should print.
  void describe(const std::string& text) const {
    const auto fresh = folder() / "schema.new";
    std::ofstream(fresh) << text;
    std::filesystem::rename(fresh, schema());
  }

  const std::filesystem::path& folder() const { return directory_.path(); }
  std::filesystem::path schema() const { return folder() / "schema.json"; }
  std::string command() const { return fake_cli_binary() + " " + schema().string(); }

  // A client of it, after the handshake.
  Client client(std::vector<std::string> options = {}) const {
    return Client({.options = std::move(options), .tools_from = command()});
  }

 private:
  TemporaryDirectory directory_;
};

// What the program got as its arguments, without the result arguments at the end.
inline std::vector<std::string> arguments_in(const boost::json::object& answer) {
  std::vector<std::string> words;
  const boost::json::value* structured = answer.at("result").as_object().if_contains("structuredContent");
  if (structured == nullptr) return {"no arguments: " + text_of(answer)};
  for (const auto& word : structured->at("args").as_array()) words.emplace_back(word.as_string());
  return words;
}

}  // namespace harness
