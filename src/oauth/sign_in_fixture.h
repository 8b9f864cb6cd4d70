// What tests of the machine have in common: a sign-in to a.example at i.example, and what it wants to be
// done.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "oauth/sign_in.h"

namespace mcpivot {

constexpr std::int64_t now = 1'800'000'000;

class SigningIn : public testing::Test {
 protected:
  SigningIn()
      : machine_({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets()) {}

  static SignIn::MakeSecret secrets() {
    return [n = 0]() mutable { return "secret" + std::to_string(++n) + std::string(25, 'x'); };
  }

  void happens(const SignIn::Event& event, std::int64_t at = now) { effects_ = machine_.on(event, at); }
  template <class E>
  const E* did() const {
    for (const auto& effect : effects_)
      if (const E* const found = std::get_if<E>(&effect)) return found;
    return nullptr;
  }
  std::string failure() const { return did<SignIn::Fail>() ? did<SignIn::Fail>()->words : "(no failure)"; }
  std::string fetched_url() const {
    return did<SignIn::Fetch>() ? did<SignIn::Fetch>()->request.url.text() : "(nothing)";
  }
  static FetchAnswer answer_of(const std::string& body, int status = 200) {
    return {.status = status, .content_type = {}, .body = body, .www_authenticate = {}, .from = {}};
  }
  void answer(const std::string& body, int status = 200) {
    happens(SignIn::Fetched{answer_of(body, status)});
  }

  void turn(SignInRecord record = {.server = "https://a.example/mcp"}) {
    ASSERT_TRUE(did<SignIn::TakeTurn>());
    happens(SignIn::Turn{.record = std::move(record)});
  }
  // Until the user is asked.
  void ask(const std::string& more_metadata = "", SignIn::Wanted wanted = {}) {
    happens(wanted);
    turn();
    discover(more_metadata);
    happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
    EXPECT_EQ(fetched_url(), "https://i.example/r");
    answer(R"({"client_id":"c1"})", 201);
    ASSERT_TRUE(did<SignIn::Show>()) << failure();
  }
  void discover(const std::string& more_metadata = "") {
    EXPECT_EQ(fetched_url(), "https://a.example/.well-known/oauth-protected-resource/mcp");
    answer(
        R"({"resource":"https://a.example/mcp","authorization_servers":["https://i.example"],"scopes_supported":["r","w"]})");
    EXPECT_EQ(fetched_url(), "https://i.example/.well-known/oauth-authorization-server");
    answer(issuer_document(more_metadata));
  }
  static std::string issuer_document(const std::string& more = "") {
    return R"({"issuer":"https://i.example","authorization_endpoint":"https://i.example/a?x=1",
      "token_endpoint":"https://i.example/t","registration_endpoint":"https://i.example/r",
      "code_challenge_methods_supported":["S256"])" +
           more + "}";
  }
  // With the registration that there is.
  void sign_in_again(const std::string& token) {
    discover();
    happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
    ASSERT_TRUE(did<SignIn::Show>()) << failure();
    happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
    answer(tokens_with(token));
  }
  static std::string tokens_with(const std::string& access) {
    return R"({"access_token":")" + access +
           R"(","token_type":"Bearer","refresh_token":"r9","expires_in":600})";
  }
  FormFields shown() const {
    const std::string& url = did<SignIn::Show>()->pending.url;
    return parse_form(std::string_view(url).substr(url.find('?') + 1));
  }
  std::string state_text() const { return *only_field(shown(), "state"); }
  static SignInRecord signed_in(const std::string& token = "t1") {
    return {.server = "https://a.example/mcp",
            .resource = "https://a.example/mcp",
            .issuer = *parse_issuer_metadata(issuer_document(), "https://i.example"),
            .client = {.id = "c1", .redirect_uri = "http://127.0.0.1:1234/callback"},
            .tokens = {.access = token, .refresh = "r1", .expires = now + 3600},
            .asked = {"r"}};
  }

  SignIn machine_;
  SignIn::Effects effects_;
};

inline const std::string tokens =
    R"({"access_token":"t9","token_type":"Bearer","refresh_token":"r9","expires_in":60})";

inline const SignIn::Wanted more_scope{
    .challenge = parse_challenge(R"(Bearer error="insufficient_scope", scope="w")"), .rejected = "t1"};

}  // namespace mcpivot
