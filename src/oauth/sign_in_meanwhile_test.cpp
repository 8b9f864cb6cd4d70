// What happens while a user is asked: old tokens are refreshed, and nothing of it is lost.
#include "oauth/sign_in_fixture.h"

namespace mcpivot {
namespace {

using testing::HasSubstr;

class AskingForMore : public SigningIn {
 protected:
  // Until the user is asked for the scope "w", with a token that lasts for 60 s.
  void ask_for_more() {
    SignInRecord record = signed_in();
    record.tokens.expires = now + 60;
    machine_.adopt(record);
    happens(more_scope);
    turn(record);
    discover();
    happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
    ASSERT_TRUE(did<SignIn::Show>()) << failure();
    ASSERT_TRUE(did<SignIn::Remind>());
    EXPECT_EQ(did<SignIn::Remind>()->at, now + 60);
    state_ = state_text();
  }
  void expect_refresh_of(const std::string& token) const {
    ASSERT_EQ(fetched_url(), "https://i.example/t");
    EXPECT_EQ(only_field(parse_form(did<SignIn::Fetch>()->request.body), "refresh_token"), token);
    EXPECT_EQ(machine_.state(), SignIn::State::renewing);
    EXPECT_TRUE(machine_.is_trading());
  }

  std::string state_;
};

TEST_F(AskingForMore, for_more_scope_keeps_no_other_call_from_a_refresh) {
  ask_for_more();
  happens(SignIn::Wanted{.rejected = "t1"}, now + 61);
  expect_refresh_of("r1");
  happens(SignIn::Wanted{.rejected = "t1"}, now + 61);
  EXPECT_FALSE(did<SignIn::Fetch>()) << "one is enough";
  answer(tokens);
  EXPECT_TRUE(did<SignIn::Renewed>());
  EXPECT_FALSE(did<SignIn::Succeed>()) << "who wants more scope still waits for the user";
  EXPECT_EQ(did<SignIn::Save>()->record.tokens.refresh, "r9");
  EXPECT_EQ(machine_.token(), "t9");
  // A request that was under way with the old one just takes the new one.
  happens(SignIn::Wanted{.rejected = "t1"}, now + 62);
  EXPECT_TRUE(did<SignIn::Renewed>());
  EXPECT_FALSE(did<SignIn::Fetch>());
  // One that is rejected at once isn't refreshed in circles.
  happens(SignIn::Wanted{.rejected = "t9"}, now + 1);
  EXPECT_FALSE(did<SignIn::Fetch>());
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_}}});
  answer(tokens_with("t10"));
  EXPECT_TRUE(did<SignIn::Succeed>());
  EXPECT_EQ(machine_.record().asked, (Scopes{"r", "w"}));
}

TEST_F(AskingForMore, refreshes_for_other_processes_when_the_token_has_expired) {
  ask_for_more();
  happens(SignIn::Reminded{}, now + 60);
  expect_refresh_of("r1");
  happens(SignIn::Fetched{answer_of(tokens)}, now + 60);
  ASSERT_TRUE(did<SignIn::Remind>());
  EXPECT_GE(did<SignIn::Remind>()->at, now + 120);
  // Those find it in the record, though they don't have the turn.
  SignIn other({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
  other.on(SignIn::Wanted{.rejected = "t1"}, now + 60);
  effects_ = other.on(SignIn::News{machine_.record()}, now + 61);
  EXPECT_TRUE(did<SignIn::Succeed>());
  EXPECT_EQ(other.token(), "t9");
}

TEST_F(AskingForMore, accepts_the_users_redirect_during_a_refresh) {
  ask_for_more();
  happens(SignIn::Reminded{}, now + 60);
  happens(SignIn::Redirected{{{"code", "evil"}, {"state", "x"}}});
  ASSERT_TRUE(did<SignIn::Reply>());
  EXPECT_FALSE(did<SignIn::Reply>()->ok);
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_}}});
  EXPECT_TRUE(effects_.empty());
  happens(SignIn::Redirected{{{"code", "other"}, {"state", state_}}});
  EXPECT_TRUE(did<SignIn::Reply>()) << "a code is used once";
  answer(tokens);
  EXPECT_EQ(machine_.state(), SignIn::State::exchanging);
  EXPECT_THAT(did<SignIn::Fetch>()->request.body, HasSubstr("code=abc"));
  answer(tokens_with("t10"));
  EXPECT_TRUE(did<SignIn::Reply>()->ok);
  EXPECT_EQ(machine_.token(), "t10");
}

TEST_F(AskingForMore, times_out_even_during_a_refresh) {
  ask_for_more();
  happens(SignIn::Reminded{}, now + 600);
  happens(SignIn::Overdue{}, now + 600);
  EXPECT_EQ(machine_.state(), SignIn::State::renewing);
  answer(tokens);
  EXPECT_THAT(failure(), HasSubstr("timed out"));
  EXPECT_TRUE(did<SignIn::Save>());
  EXPECT_EQ(machine_.state(), SignIn::State::idle);
  EXPECT_EQ(machine_.token(), "t9");
}

TEST_F(AskingForMore, signing_out_during_a_refresh_stays_in_effect) {
  ask_for_more();
  happens(SignIn::Reminded{}, now + 60);
  happens(SignIn::SignedOut{});
  answer(tokens);
  EXPECT_FALSE(did<SignIn::Save>());
  EXPECT_EQ(machine_.token(), "");
}

TEST_F(AskingForMore, an_issuer_that_is_down_or_revoked_the_sign_in_is_not_asked_repeatedly) {
  for (const bool down : {true, false}) {
    machine_ =
        SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
    ask_for_more();
    happens(SignIn::Wanted{.rejected = "t1"}, now + 61);
    happens(SignIn::Fetched{down ? answer_of("", 503) : answer_of(R"({"error":"invalid_grant"})", 400)},
            now + 61);
    EXPECT_EQ(machine_.state(), SignIn::State::waiting);
    EXPECT_EQ(machine_.token(), down ? "t1" : "");
    happens(SignIn::Wanted{.rejected = "t1"}, now + 62);
    EXPECT_FALSE(did<SignIn::Fetch>());
  }
}

TEST_F(SigningIn, a_user_who_does_not_grant_more_scopes_delays_no_refresh) {
  happens(more_scope);
  turn(signed_in());
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  happens(SignIn::Redirected{{{"error", "access_denied"}, {"state", state_text()}}});
  EXPECT_THAT(failure(), HasSubstr("access_denied"));
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  EXPECT_EQ(fetched_url(), "https://i.example/t");
  answer(tokens);
  happens(more_scope);
  EXPECT_FALSE(did<SignIn::TakeTurn>()) << "a question to the user isn't repeated at once";
}

TEST_F(SigningIn, a_registration_for_a_sign_in_that_does_not_end_leaves_the_old_tokens_theirs) {
  happens(more_scope);
  turn(signed_in());
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:4321/callback"});  // somebody else has the usual port
  EXPECT_EQ(fetched_url(), "https://i.example/r");
  answer(R"({"client_id":"c2"})", 201);
  EXPECT_FALSE(did<SignIn::Save>());
  EXPECT_EQ(only_field(shown(), "client_id"), "c2");
  happens(SignIn::Reminded{}, now + 3600);
  EXPECT_EQ(only_field(parse_form(did<SignIn::Fetch>()->request.body), "client_id"), "c1");
}

}  // namespace
}  // namespace mcpivot
