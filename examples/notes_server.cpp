// A small MCP server to try mcpivot with. It keeps notes in memory while it runs. One file, as your own
// server might start out: read a line, answer a line.
#include <boost/json.hpp>
#include <cassert>
#include <iostream>
#include <string>
#include <vector>

namespace json = boost::json;

namespace {

std::vector<std::string> notes;

json::value text(const std::string& words) {
  return {{"content", json::array{{{"type", "text"}, {"text", words}}}}};
}

json::array tools() {
  const json::value note = {{"type", "object"},
                            {"properties", {{"text", {{"type", "string"}}}}},
                            {"required", json::array{"text"}}};
  return {{{"name", "add_note"}, {"description", "Keeps a note"}, {"inputSchema", note}},
          {{"name", "list_notes"},
           {"description", "Shows all notes"},
           {"inputSchema", {{"type", "object"}}},
           {"annotations", {{"readOnlyHint", true}}}}};
}

json::value call(const std::string& tool, const json::object& arguments) {
  if (tool == "add_note") {
    notes.emplace_back(arguments.at("text").as_string());
    return text("kept, note " + std::to_string(notes.size()));
  }
  if (tool == "list_notes") {
    std::string all;
    for (const auto& note : notes) all += "- " + note + "\n";
    return text(all.empty() ? "no notes yet" : all);
  }
  throw std::invalid_argument("no tool " + tool);
}

json::value answer(const std::string& method, const json::object& params) {
  if (method == "initialize") {
    return {{"protocolVersion", params.at("protocolVersion")},
            {"serverInfo", {{"name", "notes"}, {"version", "1.0"}}},
            {"capabilities", {{"tools", json::object()}}}};
  }
  if (method == "tools/list") return {{"tools", tools()}};
  if (method == "tools/call") {
    const auto* arguments = params.if_contains("arguments");
    return call(std::string(params.at("name").as_string()),
                arguments ? arguments->as_object() : json::object());
  }
  if (method == "ping") return json::object();
  throw std::invalid_argument("no method " + method);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const json::object message = json::parse(line).as_object();
    if (!message.contains("id") || !message.contains("method")) continue;
    json::object reply{{"jsonrpc", "2.0"}, {"id", message.at("id")}};
    try {
      const auto* params = message.if_contains("params");
      reply["result"] = answer(std::string(message.at("method").as_string()),
                               params ? params->as_object() : json::object());
    } catch (const std::exception& error) {
      reply["error"] = {{"code", -32602}, {"message", error.what()}};
    }
    std::cout << reply << std::endl;
  }
}
