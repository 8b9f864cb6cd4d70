// Many servers behind one connection: only what is active is in the client's lists, and each server lives and
// dies on its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateways.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

Strings with_prefix(const Strings& names, const std::string& prefix) {
  Strings found;
  for (const std::string& name : names)
    if (name.starts_with(prefix)) found.push_back(name);
  return found;
}

// ---- Activation.

TEST(Gateway, only_active_servers_are_listed) {
  Client client(with(two()));
  start(client);
  const Strings tools = tools_of(client);
  EXPECT_THAT(tools, Contains("alpha__echo"));
  EXPECT_THAT(with_prefix(tools, "beta__"), IsEmpty());
  EXPECT_THAT(tools, Contains("pivot_activate"));

  const std::string words = client.call_text("pivot_activate", {{"server", "BET"}});
  EXPECT_THAT(words, AllOf(HasSubstr("\"beta\" is now active"), HasSubstr("beta__echo")));
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(with_prefix(tools_of(client), "beta__"), SizeIs(6));
  EXPECT_EQ(own(client, "beta__echo", {{"text", "hello"}}), "hello");

  EXPECT_THAT(client.call_text("pivot_deactivate", {{"server", "beta"}}), HasSubstr("is now inactive"));
  EXPECT_EQ(tools_of(client), tools);
}

TEST(Gateway, a_server_that_is_activated_before_it_is_ready_says_so_once) {
  json::object servers = two();
  servers["beta"] = server({"--hold", "initialize"});
  Client client(with(servers));
  start(client, {"alpha"});
  EXPECT_THAT(client.call_text("pivot_activate", {{"server", "beta"}}),
              HasSubstr(" It is not ready yet: it is starting (generation 1)."));
}

TEST(Gateway, an_ambiguous_or_unknown_name_lists_the_candidates) {
  json::object servers = two();
  servers["alphabet"] = server({});
  Client client(with(servers));
  start(client, {"alpha", "beta", "alphabet"});
  EXPECT_THAT(text_of(client.call("pivot_activate", {{"server", "alph"}})),
              AllOf(HasSubstr("alpha"), HasSubstr("alphabet"), HasSubstr("fits several")));
  EXPECT_THAT(text_of(client.call("pivot_activate", {{"server", "gamma"}})),
              AllOf(HasSubstr("no server is called \"gamma\""), HasSubstr("beta")));
  EXPECT_THAT(client.call_text("pivot_activate", {{"server", "alpha"}}), HasSubstr("was already active"));
}

TEST(Gateway, a_tool_of_an_inactive_server_says_how_to_activate_it_and_can_be_called_through) {
  Client client(with(two()));
  start(client);
  const json::object answer = client.call("beta__echo", {{"text", "x"}});
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("pivot_activate"), HasSubstr("pivot_call")));
  EXPECT_EQ(own(client, "pivot_call", {{"tool", "beta__echo"}, {"arguments", {{"text", "through"}}}}),
            "through");
  EXPECT_THAT(text_of(client.call("pivot_call", {{"tool", "nobody__echo"}})), HasSubstr("no tool is called"));
  EXPECT_THAT(json::serialize(client.call("nobody__echo")), HasSubstr("Unknown tool: nobody__echo"));
}

TEST(Gateway, arguments_of_a_call_through_may_be_spelled_as_a_string_and_nothing_else) {
  Client client(with(two()));
  start(client);
  const auto call = [&](const json::value& arguments) {
    return client.call("pivot_call", {{"tool", "beta__echo"}, {"arguments", arguments}});
  };
  EXPECT_EQ(own_text(call("{\n  \"text\": \"spelled\"\n}")), "spelled");
  for (const json::value& wrong : {json::value("text=x"), json::value("[1]"), json::value(json::array{1}),
                                   json::value(7), json::value(std::string(2'000, '['))}) {
    const json::object answer = call(wrong);
    EXPECT_TRUE(is_error(answer));
    EXPECT_THAT(text_of(answer), HasSubstr("\"arguments\" must be an object"));
  }
  std::string deep = "{\"a\":";
  for (int i = 0; i < 1'022; ++i) deep += "[";
  for (int i = 0; i < 1'022; ++i) deep += "]";
  EXPECT_THAT(text_of(call(json::value(deep + "}"))), HasSubstr("nested too deeply"));
  EXPECT_THAT(text_of(client.call("pivot_call")), HasSubstr("say which tool"));
}

TEST(Gateway, a_call_through_has_progress_and_can_be_cancelled) {
  Client client(with(two()));
  start(client);
  const auto id = client.send(
      "tools/call",
      {{"name", "pivot_call"},
       {"arguments", {{"tool", "beta__sleep"}, {"arguments", {{"ms", 600'000}, {"steps", 60'000}}}}},
       {"_meta", {{"progressToken", "tok"}}}});
  const json::object progress = client.expect_notification("notifications/progress");
  EXPECT_EQ(progress.at("params").at("progressToken"), "tok");
  client.notify("notifications/cancelled", {{"requestId", id}});
  EXPECT_TRUE(wait_until(
      [&] {
        return own(client, "pivot_status", {{"server", "beta"}}).find("in flight: 0") != std::string::npos;
      },
      soon()));
}

TEST(Gateway, remembers_what_was_active) {
  TemporaryDirectory state;
  const std::string file = (state.path() / "mcpivot.json").string();
  std::ofstream(file) << file_of(two(), {{"remember", true}});
  // The same file twice: not the harness's own.
  auto run = [&] {
    return ClientOptions{.options = {"--config", file}, .environment = {{"XDG_STATE_HOME", state.path()}}};
  };
  {
    Client first(run());
    start(first);
    first.call("pivot_activate", {{"server", "beta"}});
    first.call("pivot_deactivate", {{"server", "alpha"}});
  }
  Client second(run());
  start(second);
  EXPECT_THAT(tools_of(second), AllOf(Contains("beta__echo"), Not(Contains("alpha__echo"))));
}

TEST(Gateway, costs_little_context_when_nothing_is_active) {
  json::object servers;
  for (int i = 0; i < 5; ++i) servers["server" + std::to_string(i)] = server({});
  Client client(with(servers));
  const json::object hello = client.initialize();
  const std::size_t instructions = hello.at("result").at("instructions").as_string().size();
  const std::string tools = json::serialize(client.request("tools/list").at("result").at("tools"));
  EXPECT_LE(tools.size() + instructions, 2500U);
}

TEST(Gateway, tools_are_found_by_what_they_do) {
  json::object servers = two();
  servers["beta"] = server({"--only", "echo", "--tool",
                            R"({"name":"resize_image","description":"Scales a picture to another size",)"
                            R"("inputSchema":{"type":"object","properties":{"width":{"type":"integer"}}}})"},
                           {{"tools", {{"deny", json::array{"echo"}}}}});
  Client client(with(servers));
  start(client);
  const std::string found =
      client.call_text("pivot_search", {{"query", "make a photo smaller, resize the image"}});
  EXPECT_THAT(found, AllOf(StartsWith("beta__resize_image (inactive"), HasSubstr(R"("width")")));
  EXPECT_THAT(client.call_text("pivot_search", {{"query", "book a flight to Lisbon"}}),
              StartsWith("nothing fits"));
  EXPECT_THAT(client.call_text("pivot_search", {{"query", "answers with the text"}}),
              Not(HasSubstr("beta__echo")));
  EXPECT_TRUE(is_error(client.call("pivot_search")));
}

// ---- One server in a file.

TEST(Gateway, a_file_with_one_server_shows_it_as_it_is) {
  Client client(with({{"alpha", server({"--name", "alpha"})}}));
  const json::object hello = client.initialize();
  EXPECT_EQ(hello.at("result").at("serverInfo").at("name"), "alpha");
  const Strings tools = tools_of(client);
  EXPECT_THAT(tools, Contains("echo"));
  EXPECT_THAT(tools, Not(Contains("pivot_activate")));
  EXPECT_EQ(own(client, "echo", {{"text", "bare"}}), "bare");
}

// ---- Names.

TEST(Gateway, bare_names_are_prefixed_where_two_clash) {
  json::object servers = {{"alpha", server({"--only", "echo,pid"}, {{"active", true}})},
                          {"beta", server({"--only", "echo,cwd"}, {{"active", true}})}};
  Client client(with(servers, {{"names", "bare"}}));
  start(client);
  EXPECT_THAT(tools_of(client), AllOf(Contains("alpha__echo"), Contains("beta__echo"), Contains("pid"),
                                      Contains("cwd"), Not(Contains("echo"))));
  EXPECT_EQ(own(client, "beta__echo", {{"text", "b"}}), "b");
  EXPECT_THAT(own(client, "pid"), Not(HasSubstr("Unknown")));
  EXPECT_THAT(client.call_text("pivot_status"), HasSubstr("name clash: echo of \"alpha\""));
}

TEST(Gateway, long_and_odd_names_stay_within_what_clients_take_and_are_stable) {
  const std::string tool(80, 'x');
  json::object servers = {
      {"a server with spaces", server({"--only", "echo", "--tool", tool}, {{"active", true}})},
      {"beta", server({})}};
  Strings first;
  for (int run = 0; run < 2; ++run) {
    Client client(with(servers));
    start(client, {"a server with spaces", "beta"});
    const Strings tools = with_prefix(tools_of(client), "a_server_with_spaces__");
    ASSERT_THAT(tools, SizeIs(2));
    for (const std::string& name : tools) {
      EXPECT_LE(name.size(), 48U);
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"),
                std::string::npos);
      EXPECT_FALSE(client.call(name).contains("error"));
    }
    if (run == 1) {
      EXPECT_EQ(tools, first);
    }
    first = tools;
  }
}

// Larger than a pipe, so that most of it still waits to be written when the lists are built anew.
TEST(Gateway, a_large_list_that_waits_for_its_reader_stays_as_it_was) {
  json::object servers = two();
  const std::string words(3'000'000, 'w');
  servers["alpha"].as_object()["tools"] = {{"describe", {{"echo", words}}}};
  Client client(with(servers));
  start(client);
  const auto alpha = static_cast<pid_t>(std::stol(own(client, "alpha__pid")));
  client.child().pause_reading(true);
  const auto before = client.send("tools/list");
  const auto full = [&] { return bytes_written(client.child().pid()) > 60'000; };
  ASSERT_TRUE(wait_until(full, soon()));
  servers.erase("alpha");
  rewrite(client, file_of(servers));
  ASSERT_TRUE(wait_until([&] { return !process_alive(alpha); }, soon()));
  client.child().pause_reading(false);
  EXPECT_THAT(json::serialize(client.await(before)), HasSubstr("\"" + words + "\""));
  const std::string after = json::serialize(client.request("tools/list"));
  EXPECT_THAT(after, AllOf(Not(HasSubstr(words)), HasSubstr("pivot_restart")));
}

TEST(Gateway, tools_are_allowed_denied_renamed_and_redescribed) {
  json::object rules = {{"allow", json::array{"e*", "pid", "sleep"}},
                        {"deny", json::array{"env"}},
                        {"rename", {{"echo", "say"}}},
                        {"describe", {{"echo", "Says it again"}}}};
  json::object servers = {
      {"alpha", server({"--only", "echo,env,pid,cwd"}, {{"active", true}, {"tools", rules}})},
      {"beta", server({})}};
  Client client(with(servers));
  start(client);
  EXPECT_THAT(with_prefix(tools_of(client), "alpha__"), ElementsAre("alpha__say", "alpha__pid"));
  EXPECT_THAT(json::serialize(client.request("tools/list")), HasSubstr("Says it again"));
  EXPECT_EQ(own(client, "alpha__say", {{"text", "renamed"}}), "renamed");
  for (const char* denied : {"alpha__env", "alpha__cwd", "alpha__echo"}) {
    EXPECT_THAT(json::serialize(client.call(denied)), HasSubstr("Unknown tool")) << denied;
    EXPECT_THAT(text_of(client.call("pivot_call", {{"tool", denied}})), HasSubstr("no tool is called"))
        << denied;
  }
}

// ---- Everything else that is routed.

TEST(Gateway, prompts_and_resources_find_their_servers) {
  json::object servers = {
      {"alpha", server({"--prompt", "mine", "--resource", "alpha://only"}, {{"active", true}})},
      {"beta", server({"--prompt", "mine", "--resource", "beta://only"}, {{"active", true}})}};
  Client client(with(servers));
  start(client);
  const Strings prompts = names_in(client.request("prompts/list"), "prompts");
  EXPECT_THAT(prompts, AllOf(Contains("alpha__mine"), Contains("beta__mine")));
  EXPECT_TRUE(client.request("prompts/get", {{"name", "beta__mine"}}).contains("result"));
  EXPECT_TRUE(client.request("prompts/get", {{"name", "mine"}}).contains("error"));

  const Strings uris = names_in(client.request("resources/list"), "resources", "uri");
  EXPECT_THAT(uris, AllOf(Contains("alpha://only"), Contains("beta://only")));
  EXPECT_EQ(std::ranges::count(uris, "fake://hello"), 1) << "both have it; the first one gets it";
  const json::object templates = client.request("resources/templates/list");
  EXPECT_THAT(names_in(templates, "resourceTemplates", "uriTemplate"), ElementsAre("fake://item/{id}"));
  EXPECT_THAT(client.call_text("pivot_status"),
              HasSubstr("fake://item/{id} is read from \"alpha\", though \"beta\" has it too"));
  for (const char* uri : {"alpha://only", "beta://only", "fake://hello"})
    EXPECT_TRUE(client.request("resources/read", {{"uri", uri}}).contains("result")) << uri;
  EXPECT_EQ(client.request("resources/read", {{"uri", "gamma://x"}}).at("error").at("code"), -32002);
  EXPECT_TRUE(client.request("resources/subscribe", {{"uri", "beta://only"}}).contains("result"));
  EXPECT_THAT(own(client, "beta__state"), HasSubstr("beta://only"));
  EXPECT_THAT(own(client, "alpha__state"), Not(HasSubstr("beta://only")));
}

TEST(Gateway, the_log_level_goes_to_all_and_log_messages_say_whose_they_are) {
  Client client(with(two()));
  start(client);
  EXPECT_TRUE(client.request("logging/setLevel", {{"level", "debug"}}).contains("result"));
  client.call("pivot_activate", {{"server", "beta"}});
  for (const char* name : {"alpha", "beta"}) {
    const std::string server_name = name;
    EXPECT_TRUE(wait_until(
        [&] {
          return own(client, server_name + "__state").find("\"logLevel\":\"debug\"") != std::string::npos;
        },
        soon()));
    client.call(server_name + "__log", {{"level", "error"}, {"text", "x"}});
    const json::object said = client.expect_notification("notifications/message");
    EXPECT_THAT(std::string(said.at("params").at("logger").as_string()), StartsWith(server_name));
  }
}

TEST(Gateway, a_log_level_that_there_is_not_is_refused) {
  Client client(with(two()));
  start(client);
  for (const json::object& params :
       {json::object{{"level", "loud"}}, json::object{{"level", 3}}, json::object{}}) {
    const json::value error = client.request("logging/setLevel", params).at("error");
    EXPECT_EQ(error.at("code"), -32602) << json::serialize(params);
    EXPECT_THAT(json::serialize(error), AllOf(HasSubstr("debug"), HasSubstr("emergency")));
  }
  EXPECT_THAT(own(client, "alpha__state"), Not(HasSubstr("loud")));
}

TEST(Gateway, servers_ask_the_client_each_for_itself) {
  Client client(with(two()));
  start(client);
  client.call("pivot_activate", {{"server", "beta"}});
  const auto a = client.send_call("alpha__ask", {{"method", "roots/list"}});
  const auto b = client.send_call("beta__ask", {{"method", "roots/list"}});
  const json::object first = client.expect_request("roots/list");
  const json::object second = client.expect_request("roots/list");
  EXPECT_NE(first.at("id"), second.at("id"));
  client.answer(second, {{"roots", json::array{}}});
  client.answer(first, {{"roots", json::array{}}});
  EXPECT_FALSE(is_error(client.await(a)));
  EXPECT_FALSE(is_error(client.await(b)));
}

TEST(Gateway, tasks_are_asked_of_the_server_that_has_them) {
  Client client(with(two()));
  const json::object hello = client.initialize("2025-11-25");
  EXPECT_TRUE(hello.at("result").at("capabilities").at("tasks").at("requests").at("tools").is_object());
  wait_ready(client, {"alpha", "beta"});
  client.call("pivot_activate", {{"server", "beta"}});
  const json::object begun = client.request(
      "tools/call", {{"name", "beta__echo"}, {"arguments", json::object{}}, {"task", {{"ttl", 60000}}}});
  const json::value task = begun.at("result").at("task").at("taskId");
  // The second time it has ended, and is still known.
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(own_text(client.request("tasks/result", {{"taskId", task}})), HasSubstr("the result of"));
  EXPECT_TRUE(client.request("tasks/result", {{"taskId", "nobody's"}}).contains("error"));
}

TEST(Gateway, a_method_that_nobody_knows_is_refused) {
  Client client(with(two()));
  start(client);
  EXPECT_EQ(client.request("custom/method").at("error").at("code"), -32601);
  EXPECT_EQ(client.request("server/discover").at("error").at("code"), -32601);
  EXPECT_TRUE(client.request("ping").contains("result"));
}

// ---- Each on its own.

TEST(Gateway, a_server_that_cannot_start_or_hangs_delays_nobody) {
  json::object servers = two();
  servers["missing"] = json::object{{"command", "/no/such/program"}, {"active", true}};
  servers["hanging"] = server({"--hold", "initialize"}, {{"active", true}});
  servers["dying"] = server({"--die", "start"}, {{"active", true}});
  Client client(with(servers));
  const json::object hello = client.initialize();
  EXPECT_TRUE(hello.contains("result"));
  wait_ready(client, {"alpha", "beta"});
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "quick"}}), "quick");
  const std::string status = client.call_text("pivot_status");
  EXPECT_THAT(status, AllOf(HasSubstr("missing: active, failed"), HasSubstr("hanging: active, starting")));
}

TEST(Gateway, a_crash_is_reported_under_the_names_that_the_client_knows_and_costs_the_others_nothing) {
  Client client(with(two()));
  start(client);
  client.call("pivot_activate", {{"server", "beta"}});
  const pid_t alpha = std::stoi(own(client, "alpha__pid"));
  for (int i = 0; i < 5; ++i) {
    const std::string report = own_text(client.call("beta__crash"));
    EXPECT_THAT(report, AllOf(HasSubstr("server \"beta\""), HasSubstr("\"beta__crash\"")));
    EXPECT_EQ(own(client, "alpha__echo", {{"text", "here"}}), "here");
  }
  EXPECT_EQ(std::stoi(own(client, "alpha__pid")), alpha);
}

TEST(Gateway, an_inactive_server_that_crashes_bothers_no_model) {
  Client client(with(two()));
  start(client);
  EXPECT_TRUE(is_error(client.call("pivot_call", {{"tool", "beta__crash"}})));
  wait_ready(client, {"beta"});
  EXPECT_EQ(blocks(client.call("alpha__echo", {{"text", "x"}})), 1U);
}

TEST(Gateway, what_changed_in_one_server_is_told_with_the_next_answer_of_any) {
  json::object servers = two();
  servers["beta"] =
      server({"--lives", "b", "--only", "echo", "--life", "2+", "--tool", "fresh"}, {{"active", true}});
  Client client(with(servers));
  start(client);
  client.notifications.clear();
  client.send_call("pivot_restart", {{"server", "beta"}});
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), Contains("beta__fresh"));
}

TEST(Gateway, a_stop_that_frees_a_program_stops_all_who_run_it_and_the_next_call_starts_each) {
  TemporaryDirectory folder;
  const std::string program = (folder.path() / "server").string();
  fs::copy_file(fake_server_binary(), program);
  json::object servers;
  for (const char* name : {"alpha", "beta"})
    servers[name] = json::object{{"command", program}, {"active", true}};
  Client client(with(servers));
  start(client);
  client.call("pivot_restart", {{"server", "alpha"}, {"stop", true}});
  for (const char* name : {"alpha", "beta"}) {
    EXPECT_TRUE(wait_until(
        [&] {
          return own(client, "pivot_status", {{"server", name}}).find("state: stopped") != std::string::npos;
        },
        soon()))
        << name;
    EXPECT_THAT(own(client, "pivot_status", {{"server", name}}), HasSubstr("killed from outside: 0"));
  }
  for (const char* tool : {"alpha__echo", "beta__echo"}) EXPECT_EQ(own(client, tool, {{"text", "up"}}), "up");
}

// ---- Lazy servers.

TEST(Gateway, a_lazy_server_starts_at_its_first_use_and_is_listed_from_its_last_run) {
  TemporaryDirectory folder;
  json::object servers = two();
  servers["beta"] = server({"--only", "echo", "--journal", (folder.path() / "journal").string()},
                           {{"start", "lazy"}, {"active", true}, {"cwd", folder.path().string()}});
  auto run = [&] {
    ClientOptions options = with(servers);
    options.environment = {{"XDG_CACHE_HOME", (folder.path() / "cache").string()}};
    return options;
  };
  {
    Client first(run());
    start(first);  // started once, to learn its tools
  }
  Client second(run());
  second.initialize();
  wait_ready(second, {"alpha"});
  EXPECT_THAT(tools_of(second), Contains("beta__echo"));
  EXPECT_THAT(own(second, "pivot_status", {{"server", "beta"}}), HasSubstr("state: stopped"));
  EXPECT_EQ(own(second, "beta__echo", {{"text", "awake"}}), "awake");
}

TEST(Gateway, an_inactive_server_rests_after_a_while_and_wakes_when_called) {
  json::object servers = two();
  servers["beta"] = server({"--only", "echo", "--lives", "b"}, {{"idle_stop", "100ms"}});
  Client client(with(servers));
  client.initialize();
  wait_ready(client, {"alpha"});
  ASSERT_TRUE(wait_until(
      [&] {
        return own(client, "pivot_status", {{"server", "beta"}}).find("nobody needed it") !=
               std::string::npos;
      },
      soon()));
  EXPECT_EQ(own(client, "pivot_call", {{"tool", "beta__echo"}, {"arguments", {{"text", "up"}}}}), "up");
}

// ---- The file changes.

TEST(Gateway, the_file_is_watched_and_others_do_not_notice) {
  Client client(with(two()));
  start(client);
  const std::string alpha = own(client, "alpha__pid");
  json::object servers = two();
  servers.erase("beta");
  servers["gamma"] = server({"--only", "echo"}, {{"active", true}});
  rewrite(client, file_of(servers));
  client.expect_notification("notifications/tools/list_changed");
  wait_ready(client, {"gamma"});
  EXPECT_EQ(own(client, "gamma__echo", {{"text", "new"}}), "new");
  EXPECT_THAT(client.call_text("pivot_status"), Not(HasSubstr("beta")));
  EXPECT_EQ(own(client, "alpha__pid"), alpha);

  // A changed one is swapped.
  servers["gamma"] = server({"--only", "echo,cwd"}, {{"active", true}});
  rewrite(client, file_of(servers));
  EXPECT_TRUE(wait_until([&] { return std::ranges::count(tools_of(client), "gamma__cwd") == 1; }, soon()));
  EXPECT_EQ(own(client, "alpha__pid"), alpha);
}

TEST(Gateway, a_changed_queue_time_counts_for_those_who_come_then) {
  json::object servers = two();
  Client client(with(servers));
  start(client);
  servers["beta"] = server({"--hold", "initialize"},
                           {{"active", true}, {"swap", "stop-first"}, {"timeouts", {{"queue", "100ms"}}}});
  rewrite(client, file_of(servers));
  const auto state = [&] { return own(client, "pivot_status", {{"server", "beta"}}); };
  ASSERT_TRUE(wait_until([&] { return state().find("state: starting") != std::string::npos; }, soon()));
  const std::string answer =
      own(client, "pivot_call", {{"tool", "beta__echo"}, {"arguments", {{"text", "late"}}}});
  EXPECT_THAT(answer, HasSubstr("the request waited 0.1 s for it to start"));
}

TEST(Gateway, replayed_calls_that_the_file_no_longer_names_are_not_made_again) {
  json::object servers = two();
  const auto replaying = [&](json::array tools) {
    servers["alpha"] = server({"--journal", "journal"}, {{"active", true}, {"replay", std::move(tools)}});
    return file_of(servers);
  };
  Client client({.config = replaying({"echo", "count"})});
  start(client);
  own(client, "alpha__count");
  own(client, "alpha__echo", {{"text", "kept"}});
  const std::string first = own(client, "alpha__pid");
  rewrite(client, replaying({"count"}));
  ASSERT_TRUE(wait_until([&] { return own(client, "alpha__pid") != first; }, soon()));
  const Strings lines = lines_of(client.directory() / "journal");
  const auto times = [&](const char* tool) {
    return std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(tool) != std::string::npos; });
  };
  EXPECT_EQ(times(" count "), 2);
  EXPECT_EQ(times(" echo "), 1);
}

TEST(Gateway, a_start_command_that_is_added_to_the_file_starts_the_daemon) {
  const std::string port = std::to_string(free_port());
  json::object servers = two();
  servers["app"] = json::object{{"url", "http://127.0.0.1:" + port + "/mcp"}, {"active", true}};
  Client client(with(servers));
  start(client);
  servers["app"].as_object()["start_command"] =
      "echo $$ > daemon.pid; exec " FAKE_DAEMON_BINARY " --port " + port;
  rewrite(client, file_of(servers));
  ASSERT_TRUE(wait_until([&] { return own(client, "app__echo", {{"text", "up"}}) == "up"; }, soon()));
  kill(std::stoi(content_of(client.directory() / "daemon.pid")), SIGKILL);
}

TEST(Gateway, a_file_that_does_not_parse_changes_nothing_and_the_model_is_told_where) {
  Client client(with(two()));
  start(client);
  rewrite(client, "{\n  \"mcpServers\": {\n    \"alpha\": }\n}");
  ASSERT_TRUE(wait_until(
      [&] { return text_of(client.call("alpha__echo")).find("mcpivot.json:3:") != std::string::npos; },
      soon()));
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "still"}}), "still");
}

TEST(Gateway, a_server_with_an_error_does_not_make_the_other_one_bare) {
  json::object servers = two();
  servers["beta"] = json::object{{"command", 7}};
  Client client(with(servers));
  start(client, {"alpha"});
  EXPECT_THAT(tools_of(client), AllOf(Contains("alpha__echo"), Contains("pivot_activate")));
  EXPECT_THAT(text_of(client.call("alpha__echo")), HasSubstr("mcpivot.json:1:"));
}

TEST(Gateway, a_file_without_any_good_server_still_serves_the_client) {
  Client client({.config = "{ \"mcpServers\": { \"alpha\": { \"command\": 7 } } }"});
  EXPECT_TRUE(client.initialize().contains("result"));
  EXPECT_THAT(client.call_text("pivot_status"), HasSubstr("servers: 0"));
  rewrite(client, file_of(two()));
  wait_ready(client, {"alpha"});
}

// ---- Predecessors.

TEST(Compat, mcpflip_has_its_three_tools_and_bare_names) {
  json::object servers = {{"alpha", server({"--only", "echo"}, {{"active", true}})},
                          {"beta", server({"--only", "pid"})}};
  Client client(with(servers, {}, {"--compat", "mcpflip"}));
  client.initialize();
  ASSERT_TRUE(wait_until(
      [&] { return client.call_text("gateway_status").find("beta: inactive, ready") != std::string::npos; },
      soon()));
  EXPECT_THAT(tools_of(client),
              ElementsAre("echo", "gateway_activate", "gateway_deactivate", "gateway_status"));
  EXPECT_THAT(client.call_text("gateway_activate", {{"name", "beta"}}), HasSubstr("is now active"));
  EXPECT_THAT(tools_of(client), Contains("pid"));
  EXPECT_FALSE(is_error(client.call("pid")));
}

TEST(Gateway, many_servers_are_warm_at_once) {
  json::object servers;
  Strings names;
  for (int i = 0; i < 20; ++i) {
    names.push_back("s" + std::to_string(i));
    servers[names.back()] = server({"--only", "echo"}, {{"active", true}});
  }
  Client client(with(servers));
  start(client, names);
  EXPECT_THAT(tools_of(client), Contains("s19__echo"));
  EXPECT_EQ(own(client, "s7__echo", {{"text", "seven"}}), "seven");
  const std::vector<pid_t> all = descendants_of(client.child().pid());
  EXPECT_GE(all.size(), 20U);
  client.child().close_stdin();
  EXPECT_TRUE(client.child().wait_exit(soon()));
  EXPECT_TRUE(wait_gone(all));
}

}  // namespace
}  // namespace harness
