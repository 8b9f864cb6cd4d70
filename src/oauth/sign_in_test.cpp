// Each step of signing in, and attempts to disturb it, with the state machine alone.
#include "oauth/sign_in_fixture.h"

namespace mcpivot {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(SigningIn, a_complete_sign_in_leads_from_a_401_to_a_token) {
  ask();
  const FormFields asked = shown();
  EXPECT_EQ(only_field(asked, "client_id"), "c1");
  EXPECT_EQ(only_field(asked, "code_challenge_method"), "S256");
  EXPECT_EQ(only_field(asked, "resource"), "https://a.example/mcp");
  EXPECT_EQ(only_field(asked, "redirect_uri"), "http://127.0.0.1:1234/callback");
  EXPECT_EQ(only_field(asked, "scope"), "r w");
  EXPECT_EQ(only_field(asked, "x"), "1");
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
  ASSERT_EQ(fetched_url(), "https://i.example/t");
  const FormFields sent = parse_form(did<SignIn::Fetch>()->request.body);
  EXPECT_EQ(only_field(sent, "code"), "abc");
  EXPECT_EQ(only_field(sent, "resource"), "https://a.example/mcp");
  EXPECT_EQ(only_field(sent, "client_id"), "c1");
  EXPECT_GE(only_field(sent, "code_verifier")->size(), 43u);
  answer(tokens);
  EXPECT_TRUE(did<SignIn::Succeed>());
  EXPECT_TRUE(did<SignIn::EndTurn>());
  ASSERT_TRUE(did<SignIn::Save>());
  EXPECT_EQ(did<SignIn::Save>()->record.tokens.refresh, "r9");
  EXPECT_EQ(machine_.token(), "t9");
  EXPECT_EQ(machine_.record().tokens.expires, now + 60);
}

TEST_F(SigningIn, a_waiting_process_uses_the_token_that_the_other_one_obtained) {
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(signed_in("t2"));
  EXPECT_TRUE(did<SignIn::Succeed>());
  EXPECT_TRUE(did<SignIn::EndTurn>());
  EXPECT_FALSE(did<SignIn::Fetch>());
  EXPECT_EQ(machine_.token(), "t2");
}

TEST_F(SigningIn, a_user_is_not_asked_if_no_caller_is_waiting_any_more) {
  happens(SignIn::Wanted{});
  happens(SignIn::Turn{.record = {}, .asked = false});
  EXPECT_FALSE(did<SignIn::Fetch>());
  EXPECT_EQ(machine_.state(), SignIn::State::idle);
}

TEST_F(SigningIn, an_expired_token_is_refreshed_directly_and_rotated) {
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  ASSERT_EQ(fetched_url(), "https://i.example/t");
  const FormFields sent = parse_form(did<SignIn::Fetch>()->request.body);
  EXPECT_EQ(only_field(sent, "refresh_token"), "r1");
  EXPECT_EQ(only_field(sent, "resource"), "https://a.example/mcp");
  answer(tokens);
  EXPECT_TRUE(did<SignIn::Succeed>());
  EXPECT_EQ(did<SignIn::Save>()->record.tokens.refresh, "r9");
}

TEST_F(SigningIn, a_token_rejected_before_its_expiry_makes_mcpivot_look_up_the_issuer_again) {
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(signed_in());
  answer(R"({"resource":"https://a.example/mcp","authorization_servers":["https://i.example"]})");
  EXPECT_EQ(fetched_url(), "https://i.example/t");
}

TEST_F(SigningIn, a_token_that_waited_long_for_its_first_use_is_refreshed_if_it_is_rejected) {
  SignInRecord record = signed_in();
  record.trial = {.of = TokenTrial::Of::users_token, .failed = false, .failures = 0, .since = now - 3'600};
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  answer(R"({"resource":"https://a.example/mcp","authorization_servers":["https://i.example"]})");
  EXPECT_EQ(fetched_url(), "https://i.example/t");
}

TEST_F(SigningIn, a_login_that_the_user_declines_keeps_the_scopes_of_the_token) {
  SignInRecord record = signed_in();
  record.asked = {"read"};
  machine_.adopt(record);
  happens(SignIn::Wanted{.login = true});
  turn(record);
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  happens(SignIn::Redirected{{{"error", "access_denied"}, {"state", state_text()}}});
  EXPECT_TRUE(did<SignIn::Fail>());
  EXPECT_EQ(machine_.record().asked, Scopes({"read"}));
}

TEST_F(SigningIn, a_new_issuer_is_sent_nothing_that_the_old_one_issued) {
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(signed_in());
  answer(R"({"resource":"https://a.example/mcp","authorization_servers":["https://other.example"]})");
  answer(R"({"issuer":"https://other.example","authorization_endpoint":"https://other.example/a",
    "token_endpoint":"https://other.example/t","registration_endpoint":"https://other.example/r",
    "code_challenge_methods_supported":["S256"]})");
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  ASSERT_EQ(fetched_url(), "https://other.example/r");
  EXPECT_THAT(did<SignIn::Fetch>()->request.body, Not(HasSubstr("c1")));
  EXPECT_FALSE(machine_.record().signed_in());
}

TEST_F(SigningIn, invalid_grant_is_not_retried_and_asks_the_user_once) {
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  answer(R"({"error":"invalid_grant"})", 400);
  ASSERT_TRUE(did<SignIn::Save>());
  EXPECT_FALSE(did<SignIn::Save>()->record.signed_in());
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  ASSERT_TRUE(did<SignIn::Show>()) << "the registration is still good";
  EXPECT_EQ(only_field(shown(), "client_id"), "c1");
}

TEST_F(SigningIn, an_unfinished_sign_in_discards_a_possibly_forgotten_registration) {
  ask();
  happens(SignIn::Overdue{});
  ASSERT_TRUE(did<SignIn::Save>());
  EXPECT_EQ(did<SignIn::Save>()->record.client.id, "");
  happens(SignIn::Wanted{}, now + 100);
  happens(SignIn::Turn{.record = machine_.record()}, now + 100);
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  EXPECT_EQ(fetched_url(), "https://i.example/r");
}

TEST_F(SigningIn, a_registration_that_can_still_refresh_a_token_is_kept) {
  machine_.adopt(signed_in());
  happens(SignIn::Wanted{.login = true});
  turn(signed_in());
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  happens(SignIn::Overdue{});
  EXPECT_TRUE(did<SignIn::Fail>());
  EXPECT_FALSE(did<SignIn::Save>());
  EXPECT_EQ(machine_.record().client.id, "c1");
}

TEST_F(SigningIn, signing_out_during_a_refresh_stays_in_effect) {
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  ASSERT_EQ(fetched_url(), "https://i.example/t");
  happens(SignIn::SignedOut{});
  answer(tokens);
  EXPECT_THAT(failure(), HasSubstr("signed out"));
  EXPECT_FALSE(did<SignIn::Save>());
  EXPECT_EQ(machine_.token(), "");
}

TEST_F(SigningIn, signing_out_while_a_page_is_open_drops_the_token_but_the_page_still_works) {
  machine_.adopt(signed_in());
  happens(SignIn::Wanted{.login = true});
  turn(signed_in());
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  const std::string state = state_text();
  happens(SignIn::SignedOut{});
  EXPECT_EQ(machine_.token(), "");
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state}}});
  answer(tokens);
  EXPECT_EQ(machine_.token(), "t9");
}

TEST_F(SigningIn, an_issuer_that_is_down_costs_no_token_and_is_retried_later) {
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  answer("", 503);
  EXPECT_THAT(failure(), HasSubstr("503"));
  EXPECT_TRUE(machine_.record().signed_in());
  happens(SignIn::Wanted{.rejected = "t1"}, now + 1);
  EXPECT_THAT(failure(), HasSubstr("503"));
  EXPECT_FALSE(did<SignIn::TakeTurn>());
  happens(SignIn::Wanted{.rejected = "t1"}, now + 100);
  EXPECT_TRUE(did<SignIn::TakeTurn>());
}

TEST_F(SigningIn, after_a_failed_refresh_the_issuer_is_looked_up_again) {
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  const auto fail_first = [&] {
    machine_ =
        SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
    happens(SignIn::Wanted{.rejected = "t1"});
    turn(record);
    ASSERT_EQ(fetched_url(), "https://i.example/t");
    answer("gone", 404);
    EXPECT_THAT(failure(), HasSubstr("can't be refreshed now: it answered 404"));
    EXPECT_THAT(failure(), HasSubstr("if that lasts, run `mcpivot login app`"));
    happens(SignIn::Wanted{.rejected = "t1"}, now + 100);
    happens(SignIn::Turn{.record = record}, now + 100);
  };
  // Its token endpoint has moved.
  fail_first();
  EXPECT_EQ(fetched_url(), "https://a.example/.well-known/oauth-protected-resource/mcp");
  answer(R"({"authorization_servers":["https://i.example"]})");
  std::string document = issuer_document();
  document.replace(document.find("https://i.example/t"), 19, "https://i.example/new");
  answer(document);
  ASSERT_EQ(fetched_url(), "https://i.example/new");
  EXPECT_EQ(only_field(parse_form(did<SignIn::Fetch>()->request.body), "refresh_token"), "r1");
  answer(tokens);
  EXPECT_EQ(machine_.token(), "t9");
  EXPECT_EQ(did<SignIn::Save>()->record.issuer.token_endpoint, "https://i.example/new");
  // From now on, again directly.
  happens(SignIn::Wanted{.rejected = "t9"}, now + 4'000);
  happens(SignIn::Turn{.record = machine_.record()}, now + 4'000);
  EXPECT_EQ(fetched_url(), "https://i.example/new");

  // It is down.
  fail_first();
  answer(R"({"authorization_servers":["https://i.example"]})");
  answer("", 503);
  answer("", 503);
  EXPECT_THAT(failure(), HasSubstr("can't be refreshed now: its authorization server https://i.example"));

  // The server has another one now.
  fail_first();
  answer(R"({"authorization_servers":["https://other.example"]})");
  answer(R"({"issuer":"https://other.example","authorization_endpoint":"https://other.example/a",
    "token_endpoint":"https://other.example/t","registration_endpoint":"https://other.example/r",
    "code_challenge_methods_supported":["S256"]})");
  EXPECT_TRUE(did<SignIn::Open>());
}

TEST_F(SigningIn, a_server_that_is_its_own_issuer_has_its_tokens_refreshed) {
  SignInRecord record = signed_in();
  record.issuer.issuer = "https://a.example";
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  answer("", 404);
  answer("", 404);
  EXPECT_EQ(fetched_url(), "https://a.example/.well-known/oauth-authorization-server");
  answer(R"({"issuer":"https://a.example","authorization_endpoint":"https://a.example/a",
    "token_endpoint":"https://a.example/t","code_challenge_methods_supported":["S256"]})");
  EXPECT_EQ(fetched_url(), "https://a.example/t");
  EXPECT_EQ(only_field(parse_form(did<SignIn::Fetch>()->request.body), "refresh_token"), "r1");
}

TEST_F(SigningIn, a_clock_that_is_set_back_does_not_block_signing_in) {
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  answer("", 503);
  happens(SignIn::Wanted{.rejected = "t1"}, now - 100'000);
  EXPECT_TRUE(did<SignIn::TakeTurn>());
}

TEST_F(SigningIn, a_forged_state_changes_nothing) {
  ask();
  const std::string state = state_text();
  for (const FormFields& forged : {FormFields{{"code", "evil"}}, FormFields{{"code", "evil"}, {"state", "x"}},
                                   FormFields{{"code", "evil"}, {"state", state}, {"state", state}},
                                   FormFields{{"error", "<script>"}, {"state", ""}}}) {
    happens(SignIn::Redirected{forged});
    ASSERT_TRUE(did<SignIn::Reply>());
    EXPECT_FALSE(did<SignIn::Reply>()->ok);
    EXPECT_THAT(did<SignIn::Reply>()->text, Not(HasSubstr("script")));
    EXPECT_FALSE(did<SignIn::Fetch>());
  }
  happens(SignIn::Redirected{{{"code", "good"}, {"state", state}}});
  EXPECT_EQ(fetched_url(), "https://i.example/t");
}

TEST_F(SigningIn, a_response_from_another_issuer_is_neither_used_nor_shown) {
  for (const char* other : {"https://evil.example", "https://i.example/", "https://I.example"}) {
    ask();
    happens(SignIn::Redirected{{{"error", "bad words"}, {"state", state_text()}, {"iss", other}}});
    EXPECT_THAT(failure(), HasSubstr("a different authorization server"));
    EXPECT_THAT(failure(), Not(HasSubstr("bad words")));
    EXPECT_FALSE(did<SignIn::Fetch>());
    machine_ =
        SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
  }
}

TEST_F(SigningIn, an_issuer_that_announces_the_iss_parameter_must_send_it) {
  ask(R"(,"authorization_response_iss_parameter_supported":true)");
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
  EXPECT_THAT(failure(), HasSubstr("a different authorization server"));
}

TEST_F(SigningIn, a_code_is_used_once) {
  ask();
  const std::string state = state_text();
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state}}});
  ASSERT_TRUE(did<SignIn::Fetch>());
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state}}});
  EXPECT_FALSE(did<SignIn::Fetch>());
  answer(tokens);
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state}}});
  EXPECT_FALSE(did<SignIn::Fetch>());
}

TEST_F(SigningIn, hosts_named_by_the_internet_are_reached_only_on_the_internet) {
  happens(SignIn::Wanted{.server = AddressKind::open});
  turn();
  EXPECT_FALSE(did<SignIn::Fetch>()->request.addresses.allows(AddressKind::loopback));
  EXPECT_FALSE(did<SignIn::Fetch>()->request.addresses.allows(AddressKind::link_local));
  machine_ = SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
  happens(SignIn::Wanted{});  // through a proxy
  turn();
  EXPECT_FALSE(did<SignIn::Fetch>()->request.addresses.allows(AddressKind::private_network));
}

TEST_F(SigningIn, a_page_on_this_machine_is_not_opened_for_a_server_on_the_internet) {
  for (const char* const page :
       {"http://127.0.0.1:631/a", "https://localhost/a", "https://[::1]/a", "https://[::ffff:10.0.0.1]/a",
        "https://169.254.169.254/a", "https://2130706433/a", "https://0x7f.1/a", "https://127.1/a",
        "https://localhost./a", "https://192.168.1.1/"}) {
    machine_ =
        SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
    happens(SignIn::Wanted{.server = AddressKind::open});
    turn();
    answer(R"({"resource":"https://a.example/mcp","authorization_servers":["https://i.example"]})");
    std::string document = issuer_document();
    const std::string usual = "https://i.example/a?x=1";
    document.replace(document.find(usual), usual.size(), page);
    answer(document);
    EXPECT_THAT(failure(), HasSubstr("its sign-in page is at")) << page;
    EXPECT_FALSE(did<SignIn::Open>());
  }
}

TEST_F(SigningIn, a_shell_on_the_way_to_the_browser_finds_nothing_of_its_own_in_the_address) {
  happens(SignIn::Wanted{});
  turn();
  answer(R"({"resource":"https://a.example/mcp","authorization_servers":["https://i.example"]})");
  std::string document = issuer_document();
  const std::string usual = "https://i.example/a?x=1";
  document.replace(document.find(usual), usual.size(), "https://i.example/a$(id)`id`'|x;(y)");
  answer(document);
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  answer(R"({"client_id":"c1"})", 201);
  ASSERT_TRUE(did<SignIn::Show>()) << failure();
  EXPECT_TRUE(did<SignIn::Show>()->pending.url.starts_with("https://i.example/a%24(id)%60id%60%27%7Cx;(y)?"))
      << did<SignIn::Show>()->pending.url;
}

TEST_F(SigningIn, no_token_is_sent_unencrypted) {
  const SignIn::Config config{.name = "app", .server = *parse_url("http://a.example/mcp"), .client = {}};
  machine_ = SignIn(config, secrets());
  happens(SignIn::Wanted{.challenge = parse_challenge(R"(Bearer resource_metadata="https://a.example/x")")});
  turn({.server = "http://a.example/mcp"});
  EXPECT_THAT(failure(), HasSubstr("http://a.example/mcp isn't an https:// address"));
  EXPECT_FALSE(did<SignIn::Fetch>());
  // Without a challenge, the server's own URL counts.
  machine_ = SignIn(config, secrets());
  happens(SignIn::Wanted{});
  turn({.server = "http://a.example/mcp"});
  ASSERT_TRUE(did<SignIn::Fail>());
  EXPECT_FALSE(did<SignIn::Fail>()->is_offered);
}

TEST_F(SigningIn, an_error_from_the_issuer_is_shown_shortened_on_one_line) {
  ask();
  happens(SignIn::Redirected{{{"error", "access_denied"},
                              {"error_description", "no\r\nway \xff" + std::string(500, 'x')},
                              {"state", state_text()}}});
  EXPECT_THAT(failure(), HasSubstr("access_denied: no"));
  EXPECT_THAT(failure(), Not(HasSubstr("\n")));
  EXPECT_THAT(failure(), Not(HasSubstr("\xff")));
  EXPECT_LT(failure().size(), 300u);
}

TEST_F(SigningIn, what_servers_and_issuers_say_cannot_control_a_terminal) {
  happens(SignIn::Wanted{});
  turn();
  answer(R"({"authorization_servers":["\u001b]0;x\u0007\nnot a URL\u0000"]})");
  EXPECT_THAT(failure(), HasSubstr("isn't a URL: ?]0;x??not a URL?"));

  machine_ = SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
  happens(SignIn::Wanted{});
  turn();
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  answer(R"({"error":"no\u001b[31m","error_description":"\u007f\u009b"})", 400);
  EXPECT_THAT(failure(), HasSubstr("register: no?[31m: ??"));
}

TEST_F(SigningIn, secrets_echoed_by_an_issuer_are_not_shown) {
  SignInRecord record = signed_in();
  record.tokens.refresh = "r+1/" + std::string(190, 'z');
  record.tokens.expires = now - 1;
  record.client.secret = "s3cret";
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  const std::string body = did<SignIn::Fetch>()->request.body;
  answer(R"({"error":"temporarily_unavailable","error_description":"can't refresh )" + record.tokens.refresh +
             " of s3cret: " + body + "\"}",
         400);
  EXPECT_THAT(failure(), HasSubstr("can't refresh (secret) of (secret)"));
  EXPECT_THAT(failure(), Not(HasSubstr("r%2B1")));

  machine_ = SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
  ask();
  happens(SignIn::Redirected{{{"code", "the-code"}, {"state", state_text()}}});
  const FormFields sent = parse_form(did<SignIn::Fetch>()->request.body);
  answer(R"({"error":"the-code","error_description":")" + *only_field(sent, "code_verifier") + "\"}", 400);
  EXPECT_THAT(failure(), HasSubstr("(secret): (secret)"));
}

TEST_F(SigningIn, additional_scopes_are_requested_together_with_the_old_ones) {
  const SignIn::Wanted wanted{.challenge = parse_challenge(R"(Bearer error="insufficient_scope", scope="w")"),
                              .rejected = "t1"};
  happens(wanted);
  turn(signed_in());
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  EXPECT_EQ(only_field(shown(), "scope"), "r w");
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
  answer(tokens);
  EXPECT_EQ(machine_.record().asked, (Scopes{"r", "w"}));
  // The server wants a scope that was already requested, which the user can't change.
  happens(SignIn::Wanted{.challenge = wanted.challenge, .rejected = "t9"});
  turn(machine_.record());
  EXPECT_THAT(failure(), HasSubstr("scope w"));
}

TEST_F(SigningIn, a_new_sign_in_asks_for_all_scopes_of_the_old_one) {
  SignInRecord record = signed_in();
  record.asked = {"more", "r"};
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.challenge = parse_challenge(R"(Bearer scope="w")"), .rejected = "t1"});
  turn(record);
  answer(R"({"error":"invalid_grant"})", 400);
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  EXPECT_EQ(only_field(shown(), "scope"), "more r w");
  // If that is refused, the next one asks for less.
  happens(SignIn::Redirected{{{"error", "invalid_scope"}, {"state", state_text()}}});
  ASSERT_TRUE(did<SignIn::Save>());
  EXPECT_TRUE(did<SignIn::Save>()->record.asked.empty());

  // Scopes of the configuration are all that the user wants, unless a call needs more.
  machine_ = SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {.scopes = "w"}},
                    secrets());
  happens(SignIn::Wanted{.login = true});
  turn(record);
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  EXPECT_EQ(only_field(shown(), "scope"), "w");
}

TEST_F(SigningIn, a_user_who_grants_no_more_scopes_keeps_the_old_ones) {
  happens(more_scope);
  turn(signed_in());
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  happens(SignIn::Redirected{{{"error", "access_denied"}, {"state", state_text()}}});
  EXPECT_FALSE(did<SignIn::Save>());
  EXPECT_EQ(machine_.record().asked, (Scopes{"r"}));
}

TEST_F(SigningIn, a_server_that_keeps_wanting_more_scopes_is_given_up) {
  SignInRecord record = signed_in();
  for (int i = 0; i < 3; ++i) {
    happens(SignIn::Wanted{
        .challenge = parse_challenge("Bearer error=insufficient_scope, scope=s" + std::to_string(i)),
        .rejected = record.tokens.access});
    turn(record);
    discover();
    happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
    happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
    answer(tokens);
    record = machine_.record();
  }
  happens(SignIn::Wanted{.challenge = parse_challenge("Bearer error=insufficient_scope, scope=s3"),
                         .rejected = "t9"});
  turn(record);
  EXPECT_TRUE(did<SignIn::Fail>());
  EXPECT_FALSE(did<SignIn::Fetch>());
}

TEST_F(SigningIn, an_unobtainable_scope_does_not_delay_a_refresh) {
  happens(SignIn::Wanted{.challenge = parse_challenge(R"(Bearer error="insufficient_scope", scope="r")"),
                         .rejected = "t1"});
  turn(signed_in());
  EXPECT_THAT(failure(), HasSubstr("scope r"));
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  EXPECT_EQ(fetched_url(), "https://i.example/t");
}

TEST_F(SigningIn, scopes_that_were_accepted_do_not_count_toward_the_limit) {
  SignInRecord record = signed_in();
  for (int i = 0; i < 5; ++i) {
    happens(SignIn::Wanted{
        .challenge = parse_challenge("Bearer error=insufficient_scope, scope=s" + std::to_string(i)),
        .rejected = record.tokens.access});
    turn(record);
    sign_in_again("t" + std::to_string(20 + i));
    record = machine_.record();
    happens(SignIn::Accepted{record.tokens.access});
  }
  EXPECT_TRUE(record.asked.contains("s4"));
}

TEST_F(SigningIn, a_server_that_rejects_fresh_tokens_is_not_retried_rapidly) {
  ask();
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
  answer(tokens);
  happens(SignIn::Wanted{.rejected = "t9"});
  turn(machine_.record());
  EXPECT_THAT(failure(), HasSubstr("just issued"));
  EXPECT_FALSE(did<SignIn::Fetch>());
  // Once the server has accepted it, a rejection means something else.
  happens(SignIn::Accepted{"t9"});
  happens(SignIn::Wanted{.rejected = "t9"}, now + 100);
  turn(machine_.record());
  EXPECT_TRUE(did<SignIn::Fetch>());
}

TEST_F(SigningIn, a_fresh_token_that_is_rejected_in_one_process_makes_no_other_ask_for_another) {
  ask();
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
  answer(tokens);
  SignInRecord record = did<SignIn::Save>()->record;
  // In each process, one after the other.
  for (int i = 0; i < 3; ++i) {
    machine_ =
        SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
    machine_.adopt(record);
    happens(SignIn::Wanted{.rejected = "t9"});
    turn(record);
    EXPECT_THAT(failure(), HasSubstr("just issued"));
    EXPECT_FALSE(did<SignIn::Fetch>());
    record = machine_.record();
    EXPECT_EQ(record.trial.failures, 1) << "the same token";
  }
  // It was taken after all, and others may know or not: a rejection means something else now.
  happens(SignIn::Accepted{"t9"});
  EXPECT_TRUE(did<SignIn::Prove>());
  happens(SignIn::Accepted{"t9"});
  EXPECT_FALSE(did<SignIn::Prove>()) << "once is enough";
  happens(SignIn::Wanted{.rejected = "t9"});
  turn(record);
  EXPECT_TRUE(did<SignIn::Fetch>());
}

TEST_F(SigningIn, a_token_that_expires_before_its_first_use_is_refreshed) {
  ask();
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
  answer(tokens);
  happens(SignIn::Wanted{.rejected = "t9"}, now + 100);
  happens(SignIn::Turn{.record = machine_.record()}, now + 100);
  ASSERT_EQ(fetched_url(), "https://i.example/t") << failure();
  happens(SignIn::Fetched{answer_of(R"({"access_token":"t10","token_type":"Bearer","expires_in":60})")},
          now + 100);
  EXPECT_EQ(machine_.token(), "t10");
  // The user's sign-in is still fresh: a server that also rejects this token would reject any.
  happens(SignIn::Wanted{.rejected = "t10"}, now + 101);
  happens(SignIn::Turn{.record = machine_.record()}, now + 101);
  EXPECT_THAT(failure(), HasSubstr("just issued"));
}

TEST_F(SigningIn, a_refreshed_token_that_expires_before_its_first_use_is_refreshed_again) {
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  answer(tokens);
  happens(SignIn::Wanted{.rejected = "t9"}, now + 100);
  happens(SignIn::Turn{.record = machine_.record()}, now + 100);
  EXPECT_EQ(fetched_url(), "https://i.example/t");
}

TEST_F(SigningIn, rejected_fresh_tokens_make_mcpivot_ask_at_most_twice_per_request) {
  ask();
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
  answer(tokens_with("user1"));
  for (const std::string round : {"1", "2"}) {
    happens(SignIn::Wanted{.rejected = "user" + round});
    turn(machine_.record());
    EXPECT_THAT(failure(), HasSubstr("just issued"));
    happens(SignIn::Accepted{"user" + round});  // for another request
    happens(SignIn::Wanted{.rejected = "user" + round});
    turn(machine_.record());
    answer(R"({"resource":"https://a.example/mcp","authorization_servers":["https://i.example"]})");
    answer(tokens_with("refreshed" + round));
    EXPECT_EQ(machine_.token(), "refreshed" + round);
    happens(SignIn::Wanted{.rejected = "refreshed" + round});
    turn(machine_.record());
    if (round == "2") break;
    sign_in_again("user2");
  }
  EXPECT_THAT(failure(), HasSubstr("mcpivot login app"));
  EXPECT_FALSE(did<SignIn::Fetch>());
  // The other tokens are still refreshed.
  happens(SignIn::Accepted{"refreshed2"});
  happens(SignIn::Wanted{.rejected = "refreshed2"}, now + 3600);
  happens(SignIn::Turn{.record = machine_.record()}, now + 3600);
  EXPECT_EQ(fetched_url(), "https://i.example/t");
  answer(tokens_with("refreshed3"));
  // And after `mcpivot login` in another process, the user may be asked again.
  SignInRecord record = machine_.record();
  record.tokens.access = "of the login";
  record.tokens.refresh.clear();
  record.login = now;
  record.trial.failures = 0;
  machine_.adopt(record);
  happens(SignIn::Wanted{.rejected = record.tokens.access});
  turn(record);
  sign_in_again("user3");
  EXPECT_EQ(machine_.token(), "user3");
}

TEST_F(SigningIn, a_server_without_any_metadata_offers_no_sign_in) {
  happens(SignIn::Wanted{});
  turn();
  for (int i = 0; i < 4; ++i) answer("nope", 404);
  ASSERT_TRUE(did<SignIn::Fail>());
  EXPECT_FALSE(did<SignIn::Fail>()->is_offered);
}

TEST_F(SigningIn, an_html_page_at_a_well_known_address_is_skipped) {
  happens(SignIn::Wanted{});
  turn();
  answer("<html>Welcome</html>");
  EXPECT_EQ(fetched_url(), "https://a.example/.well-known/oauth-protected-resource");
  answer(R"({"authorization_servers":["https://i.example"]})");
  EXPECT_EQ(fetched_url(), "https://i.example/.well-known/oauth-authorization-server");
  answer("<script>function f() { return {}; }</script>");
  EXPECT_EQ(fetched_url(), "https://i.example/.well-known/openid-configuration");
}

TEST_F(SigningIn, a_document_named_by_the_challenge_must_be_valid_and_for_this_server) {
  for (const char* const body :
       {"<html>", R"({"resource":"https://b.example/","authorization_servers":["x"]})"}) {
    machine_ =
        SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
    happens(
        SignIn::Wanted{.challenge = parse_challenge(R"(Bearer resource_metadata="https://a.example/x")")});
    turn();
    answer(body);
    EXPECT_THAT(failure(), HasSubstr("protected resource metadata is"));
  }
  machine_ = SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
  happens(SignIn::Wanted{});
  turn();
  answer(R"({"resource":"https://b.example/","authorization_servers":["x"]})");
  EXPECT_THAT(failure(), HasSubstr("for another server"));
}

TEST_F(SigningIn, an_explicit_login_signs_in_even_with_a_valid_token) {
  machine_.adopt(signed_in());
  happens(SignIn::Wanted{.login = true});
  turn(signed_in());
  EXPECT_EQ(fetched_url(), "https://a.example/.well-known/oauth-protected-resource/mcp");
  machine_ = SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}}, secrets());
  happens(SignIn::Wanted{.login = true});
  SignInRecord record = signed_in("t2");
  record.sign_ins = 1;
  turn(record);
  EXPECT_TRUE(did<SignIn::Succeed>()) << "another process did, while we waited for the turn";
}

TEST_F(SigningIn, a_user_who_wants_to_sign_in_is_not_put_off_with_a_refresh_by_another_process) {
  machine_.adopt(signed_in());
  happens(SignIn::Wanted{.login = true});
  happens(SignIn::News{signed_in("t2")});
  EXPECT_EQ(machine_.state(), SignIn::State::queued);
  happens(SignIn::Turn{signed_in("t3")});
  EXPECT_FALSE(did<SignIn::Succeed>());
  EXPECT_EQ(fetched_url(), "https://a.example/.well-known/oauth-protected-resource/mcp");
}

TEST_F(SigningIn, an_explicit_login_is_recorded) {
  ask("", {.login = true});
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
  answer(tokens);
  EXPECT_EQ(did<SignIn::Save>()->record.login, now);
}

TEST_F(SigningIn, with_many_clients_only_the_operator_signs_in) {
  machine_ =
      SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {}, .may_ask = false},
             secrets());
  happens(SignIn::Wanted{});
  turn();
  discover();
  EXPECT_THAT(failure(), HasSubstr("mcpivot login app"));
  EXPECT_THAT(failure(), Not(HasSubstr("http")));
  EXPECT_FALSE(did<SignIn::Open>());
}

TEST_F(SigningIn, scopes_that_clients_lack_there_are_kept_for_the_operators_next_login) {
  const SignIn::Config config{.name = "app",
                              .server = *parse_url("https://a.example/mcp"),
                              .client = {},
                              .may_ask = false,
                              .login = "URL"};
  machine_ = SignIn(config, secrets());
  for (int i = 0; i < 5; ++i) {
    happens(more_scope);
    turn(i == 0 ? signed_in() : machine_.record());
    EXPECT_THAT(failure(), HasSubstr("to allow w, run `mcpivot login URL` on the machine"));
    EXPECT_FALSE(did<SignIn::Fetch>());
    EXPECT_EQ(did<SignIn::Save>() != nullptr, i == 0);
  }
  const SignInRecord record = machine_.record();
  EXPECT_EQ(record.needed, (Scopes{"w"}));
  for (int i = 0; i < 1'000; ++i) {
    happens({SignIn::Wanted{
        .challenge = parse_challenge("Bearer error=insufficient_scope, scope=issue:" + std::to_string(i)),
        .rejected = "t1"}});
    turn(machine_.record());
  }
  EXPECT_LE(scopes_text(machine_.record().needed).size(), 4'000u);

  machine_ = SignIn({.name = "app", .server = *parse_url("https://a.example/mcp"), .client = {.scopes = "r"}},
                    secrets());
  happens(SignIn::Wanted{.login = true});
  turn(record);
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  EXPECT_EQ(only_field(shown(), "scope"), "r w");
  // If that is refused, the next login asks for less.
  happens(SignIn::Redirected{{{"error", "invalid_scope"}, {"state", state_text()}}});
  ASSERT_TRUE(did<SignIn::Save>());
  EXPECT_TRUE(did<SignIn::Save>()->record.needed.empty());
  EXPECT_EQ(did<SignIn::Save>()->record.tokens.access, "t1");
}

TEST_F(SigningIn, a_client_id_from_the_configuration_is_used_unchanged) {
  machine_ = SignIn({.name = "app",
                     .server = *parse_url("https://a.example/mcp"),
                     .client = {.id = "mine", .secret = "s:1", .redirect_port = 7777}},
                    secrets());
  happens(SignIn::Wanted{});
  turn();
  discover();
  ASSERT_TRUE(did<SignIn::Open>());
  EXPECT_EQ(did<SignIn::Open>()->port, 7777);
  EXPECT_TRUE(did<SignIn::Open>()->must_be_it);
  happens(SignIn::Opened{"http://127.0.0.1:7777/callback"});
  EXPECT_EQ(only_field(shown(), "client_id"), "mine");
  happens(SignIn::Redirected{{{"code", "abc"}, {"state", state_text()}}});
  EXPECT_EQ(did<SignIn::Fetch>()->request.headers, "Authorization: Basic bWluZTpzJTNBMQ==\r\n");
  EXPECT_THAT(did<SignIn::Fetch>()->request.body, Not(HasSubstr("client_id")));
}

TEST_F(SigningIn, a_configured_client_belongs_to_the_issuer_that_accepted_it) {
  const SignIn::Config config{.name = "app",
                              .server = *parse_url("https://a.example/mcp"),
                              .client = {.id = "mine", .secret = "s3cret"}};
  const auto meet_another_issuer = [&](const SignInRecord& record) {
    machine_ = SignIn(config, secrets());
    happens(SignIn::Wanted{.login = true});
    turn(record);
    answer(R"({"authorization_servers":["https://other.example"]})");
    answer(R"({"issuer":"https://other.example","authorization_endpoint":"https://other.example/a",
      "token_endpoint":"https://other.example/t","code_challenge_methods_supported":["S256"]})");
  };
  SignInRecord record = signed_in();
  record.client = {.id = "mine", .secret = "s3cret"};
  meet_another_issuer(record);
  EXPECT_THAT(failure(), HasSubstr("https://i.example"));
  EXPECT_THAT(failure(), HasSubstr("https://other.example"));
  EXPECT_THAT(failure(), HasSubstr("mcpivot logout app"));
  EXPECT_FALSE(did<SignIn::Open>());
  EXPECT_EQ(machine_.token(), "t1");
  // Even if the old one no longer lets it refresh tokens.
  record.tokens.expires = now - 1;
  machine_ = SignIn(config, secrets());
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  answer(R"({"error":"unauthorized_client"})", 400);
  ASSERT_TRUE(did<SignIn::Save>());
  const SignInRecord saved = did<SignIn::Save>()->record;
  meet_another_issuer(saved);
  EXPECT_FALSE(did<SignIn::Open>());
  // After `mcpivot logout`.
  record.tokens = {};
  record.client = {};
  meet_another_issuer(record);
  EXPECT_TRUE(did<SignIn::Open>());
}

TEST_F(SigningIn, a_changed_client_secret_refreshes_the_token_and_a_wrong_one_costs_none) {
  machine_ = SignIn({.name = "app",
                     .server = *parse_url("https://a.example/mcp"),
                     .client = {.id = "mine", .secret = "new"}},
                    secrets());
  SignInRecord record = signed_in();
  record.client = {.id = "mine", .secret = "old"};
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  ASSERT_EQ(fetched_url(), "https://i.example/t");
  EXPECT_EQ(did<SignIn::Fetch>()->request.headers, "Authorization: Basic bWluZTpuZXc=\r\n");
  answer(R"({"error":"invalid_client"})", 401);
  EXPECT_THAT(failure(), HasSubstr("invalid_client"));
  EXPECT_THAT(failure(), HasSubstr("configured"));
  EXPECT_FALSE(did<SignIn::Save>());
  EXPECT_EQ(machine_.record().tokens.refresh, "r1");
}

TEST_F(SigningIn, a_refresh_rejected_as_invalid_client_leads_to_a_new_registration) {
  SignInRecord record = signed_in();
  record.tokens.expires = now - 1;
  happens(SignIn::Wanted{.rejected = "t1"});
  turn(record);
  answer(R"({"error":"invalid_client"})", 401);
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  EXPECT_EQ(fetched_url(), "https://i.example/r");
}

TEST_F(SigningIn, an_issuer_that_no_longer_accepts_registrations_is_reported) {
  happens(SignIn::Wanted{});
  turn({.server = "https://a.example/mcp",
        .issuer = signed_in().issuer,
        .client = {.id = "c1", .redirect_uri = "http://127.0.0.1:1234/callback"}});
  answer(R"({"resource":"https://a.example/mcp","authorization_servers":["https://i.example"]})");
  std::string document = issuer_document();
  const std::string registration = R"("registration_endpoint":"https://i.example/r",)";
  document.erase(document.find(registration), registration.size());
  answer(document);
  happens(SignIn::Opened{"http://127.0.0.1:4321/callback"});
  EXPECT_THAT(failure(), HasSubstr("takes only clients that it knows"));
}

TEST_F(SigningIn, a_client_metadata_url_is_used_where_supported_and_registration_elsewhere) {
  const SignIn::Config config{.name = "app",
                              .server = *parse_url("https://a.example/mcp"),
                              .client = {.metadata_url = "https://me.example/client.json"}};
  for (const bool takes : {true, false}) {
    machine_ = SignIn(config, secrets());
    happens(SignIn::Wanted{});
    turn();
    discover(takes ? R"(,"client_id_metadata_document_supported":true)" : "");
    happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
    if (takes) {
      ASSERT_TRUE(did<SignIn::Show>());
      EXPECT_EQ(only_field(shown(), "client_id"), "https://me.example/client.json");
    } else {
      EXPECT_EQ(fetched_url(), "https://i.example/r");
    }
  }
}

TEST_F(SigningIn, registers_as_a_public_native_client_with_one_redirect_uri) {
  happens(SignIn::Wanted{});
  turn();
  discover();
  happens(SignIn::Opened{"http://127.0.0.1:1234/callback"});
  EXPECT_EQ(
      did<SignIn::Fetch>()->request.body,
      R"({"client_name":"mcpivot","application_type":"native","redirect_uris":["http://127.0.0.1:1234/callback"],)"
      R"("grant_types":["authorization_code","refresh_token"],"response_types":["code"],)"
      R"("token_endpoint_auth_method":"none"})");
}

TEST_F(SigningIn, offline_access_is_requested_if_the_issuer_supports_it) {
  ask(R"(,"scopes_supported":["openid","offline_access"])");
  EXPECT_EQ(only_field(shown(), "scope"), "offline_access r w");
  EXPECT_EQ(only_field(shown(), "prompt"), "consent");
}

}  // namespace
}  // namespace mcpivot
