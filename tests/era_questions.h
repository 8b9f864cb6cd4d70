// For tests of questions across the eras: what a server may ask, and what a modern client finds in an answer
// that needs input.
#pragma once

#include "eras.h"

namespace harness::questions {

namespace json = boost::json;

inline const json::object form = elicitation("Which?");
inline const json::object url = {
    {"method", "elicitation/create"},
    {"params", {{"mode", "url"}, {"message", "Sign in"}, {"url", "https://example.com/"}}}};
inline const json::object sampling = {{"method", "sampling/createMessage"},
                                      {"params", {{"messages", json::array()}, {"maxTokens", 10}}}};
inline const json::object roots = {{"method", "roots/list"}};

// What the server has executed, one line for each call.
inline Strings journal_of(Client& client) {
  return lines_of(client.directory() / "journal");
}

inline json::object requests_in(const json::object& answer) {
  return answer.at("result").at("inputRequests").as_object();
}

inline std::string only_key(const json::object& answer) {
  return std::string(requests_in(answer).begin()->key());
}

inline std::string state_in(const json::object& answer) {
  return std::string(answer.at("result").at("requestState").as_string());
}

}  // namespace harness::questions
