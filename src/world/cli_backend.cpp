#include "world/cli_backend.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <filesystem>

#include "base/counted.h"
#include "base/duration_text.h"
#include "clitools/cli_result.h"
#include "log/last_resort.h"
#include "log/log.h"
#include "mcp/initialize.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "server/executable.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// No more often than this, so that a chatty program doesn't flood its client.
constexpr milliseconds progress_pace{50};
constexpr std::size_t most_in_log = 200;

// A little less than the handshake's limit, so that there is time to say what took so long.
milliseconds schema_limit(milliseconds start_timeout) {
  return start_timeout - start_timeout / 10;
}

Command schema_command(const ServerConfig& config) {
  Command command = config.command;
  command.argv.insert(command.argv.end(), config.cli->schema_args.begin(), config.cli->schema_args.end());
  return command;
}

// For a tool that has a folder of its own: paths relative to the CLI's folder keep their
// meaning.
void move_to(Command& command, const std::string& cwd) {
  namespace fs = std::filesystem;
  const fs::path base = in_folder(command, ".");
  const std::string script = own_file(command);
  for (std::size_t i = 0; i < command.argv.size(); ++i) {
    const fs::path path = (base / command.argv[i]).lexically_normal();
    const bool program = i == 0 && command.argv[0].find('/') != std::string::npos;
    if (program || (!script.empty() && path == fs::path(script).lexically_normal())) command.argv[i] = path;
  }
  command.cwd = (base / cwd).lexically_normal();
}

}  // namespace

// One tools/call, from its arrival until its program is gone.
struct CliBackend::Call : std::enable_shared_from_this<Call> {
  Call(boost::asio::io_context& loop, const ToolSpec& called) : tool(called), pace(loop) {}

  const ToolSpec& tool;  // the backend's
  std::string id;
  std::string token;  // for progress; empty: none is wanted
  std::uint64_t position = 0;
  CliRun::Plan plan{.command = {}, .time_limit = {}, .over_limit = {}};
  CallPool::Ticket ticket = 0;
  std::shared_ptr<CliRun> run;  // once its turn has come
  bool withdrawn = false;       // no caller waits for the answer
  int steps = 0;
  std::string last_line;  // of stderr, not sent yet
  boost::asio::steady_timer pace;
  bool pacing = false;
};

std::shared_ptr<Backend> CliBackend::make(LinkContext& context, Guard& guard, const ConfigRef& config,
                                          int generation, OutputRing& ring, const CliBackend* predecessor) {
  auto pool = predecessor != nullptr ? predecessor->pool_ : std::make_shared<CallPool>(config->cli->jobs);
  return std::shared_ptr<CliBackend>(
      new CliBackend(context, guard, config, generation, ring, std::move(pool)));
}

CliBackend::CliBackend(LinkContext& context, Guard& guard, ConfigRef config, int generation, OutputRing& ring,
                       std::shared_ptr<CallPool> pool)
    : context_(context),
      guard_(guard),
      config_(std::move(config)),
      generation_(generation),
      ring_(&ring),
      pool_(std::move(pool)),
      schema_command_(schema_command(*config_)) {}

CliBackend::~CliBackend() {
  close();
}

// --- life

void CliBackend::start(Link::Handler& handler, OnEnd on_end) {
  handler_ = &handler;
  on_end_ = std::move(on_end);
  fetch_ = std::make_unique<SchemaFetch>(
      context_.loop, guard_, schema_command_, schema_limit(config_->start_timeout), config_->start_timeout,
      SchemaFetch::Handlers{.on_stderr_line =
                                [this](const std::string& line) {
                                  if (ring_ != nullptr) ring_->add(generation_, line);
                                  log_info("{} schema stderr: {}", config_->name, line);
                                },
                            .on_done =
                                [this](auto schema, milliseconds took) {
                                  const auto keep = shared_from_this();
                                  on_schema(std::move(schema), took);
                                }});
}

void CliBackend::on_schema(std::expected<ToolSchema, std::string> schema, milliseconds took) {
  fetch_.reset();
  fetched_ = steady_clock::now();
  fetch_took_ = took;
  if (schema) {
    schema_ = std::move(*schema);
    pool_->set_jobs(config_->cli->jobs);  // its predecessor may have had another limit
    log_info("{}: schema fetched: {} tools, in {}", config_->name, schema_.tools.size(), duration_text(took));
  } else {
    trouble_ = std::move(schema.error());
  }
  for (const SchemaProblem& problem : schema_.problems) {
    const std::string text = fmt::format("{}: {}{}", problem.place, problem.what,
                                         problem.mistake ? " (this tool is skipped)" : "");
    log_at(problem.mistake ? LogLevel::warn : LogLevel::info, "{}: {}", config_->name, text);
    if (problem.mistake && ring_ != nullptr) ring_->add(generation_, fmt::format("[schema] {}", text));
  }
  take_all();
}

void CliBackend::end(milliseconds patience) {
  if (!ending_) {
    ending_ = true;
    fetch_.reset();
    inbox_.clear();
    for (const auto& call : Calls(calls_)) {
      call->withdrawn = true;  // the owner settles what is open
      if (call->run) {
        call->run->stop("was ended along with mcpivot or its generation", patience);
      } else {
        forget(call);
      }
    }
  }
  boost::asio::post(context_.loop, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->end_when_idle();
  });
}

void CliBackend::end_when_idle() {
  if (!ending_ || !calls_.empty() || !on_end_) return;
  const auto keep = shared_from_this();  // the callee may drop us
  std::exchange(on_end_, nullptr)({.how = "was ended"});
}

void CliBackend::close() {
  handler_ = nullptr;
  on_end_ = nullptr;
  ring_ = nullptr;
  fetch_.reset();
  inbox_.clear();
  outbox_.clear();
  // Waiting calls first: none of them may be started because others leave.
  calls_.sort([](const auto& a, const auto& b) { return !a->run && b->run; });
  for (const auto& call : std::exchange(calls_, {})) {
    call->run.reset();
    pool_->leave(call->ticket);
  }
}

std::string CliBackend::where() const {
  return fmt::format("tools from: {}", command_text(schema_command_.argv));
}

void CliBackend::describe(const Describe& line) const {
  line("schema command", command_text(schema_command_.argv));
  if (fetched_ != steady_clock::time_point())
    line("schema fetched",
         fmt::format("{} ago, in {}",
                     duration_text(std::chrono::duration_cast<milliseconds>(steady_clock::now() - fetched_)),
                     duration_text(fetch_took_)));
  const auto mistakes = std::ranges::count_if(schema_.problems, &SchemaProblem::mistake);
  if (mistakes > 0)
    line("tools left out",
         fmt::format(
             "{} in the schema{}", counted(static_cast<std::size_t>(mistakes), "mistake"),
             config_->control.logs.empty() ? "" : fmt::format("; {} shows them", config_->control.logs)));
  const CallPool::Counts& counts = pool_->counts();
  std::string runs = std::to_string(counts.calls);
  if (counts.failures > 0) runs += fmt::format(" ({} failed)", counts.failures);
  if (pool_->running() > 0) runs += fmt::format(", {} running", pool_->running());
  if (pool_->waiting() > 0) runs += fmt::format(", {} waiting", pool_->waiting());
  line("runs", runs + fmt::format(", at most {} at once", pool_->jobs()));
  if (counts.calls > 0)
    line("slowest call", fmt::format("{}, {}", counts.slowest_tool, duration_text(counts.slowest)));
}

// --- messages in

void CliBackend::send(const Message& message, std::span<const Edit> edits) {
  inbox_.push_back({++sent_, spliced(message.raw, edits)});
  take_later();
}

void CliBackend::send(std::string_view line) {
  inbox_.push_back({++sent_, std::string(line)});
  take_later();
}

void CliBackend::take_later() {
  if (std::exchange(taking_, true)) return;
  boost::asio::post(context_.loop, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    self->taking_ = false;
    self->take_all();
  });
}

void CliBackend::take_all() {
  while (!fetch_ && handler_ != nullptr && !inbox_.empty()) {
    const Received received = std::move(inbox_.front());
    inbox_.pop_front();
    survive(config_->name, [&] {
      if (const auto message = read_message(received.line)) take(*message, received.position);
    });
  }
}

void CliBackend::take(const Message& message, std::uint64_t position) {
  const std::string_view id = message.text(message.id);
  if (message.known == Method::cancelled) return cancel(message.text(message.request_id));
  if (message.kind != Kind::request) return;
  if (!trouble_.empty()) return answer(error_answer(id, code::internal_error, trouble_));
  switch (message.known) {
    case Method::initialize:
      return answer(result_answer(id, initialize_result(message.text(message.params))));
    case Method::ping:
      return answer(result_answer(id, "{}"));
    case Method::tools_list:
      return answer(result_answer(id, tools_result()));
    case Method::tools_call:
      return call(message, position);
    default:
      answer(error_answer(id, code::method_not_found,
                          fmt::format("Method not found: {}", string_value(message.text(message.method)))));
  }
}

std::string CliBackend::initialize_result(std::string_view params) const {
  return fmt::format(
      R"({{"protocolVersion":{},"capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":{},"version":"{}"}}}})",
      agreed_version(params), quote(config_->name), MCPIVOT_VERSION);
}

std::string CliBackend::tools_result() const {
  std::string items;
  for (const ToolSpec& tool : schema_.tools) items += items.empty() ? tool.listed : "," + tool.listed;
  return fmt::format(R"({{"tools":[{}]}})", items);
}

// --- calls

void CliBackend::call(const Message& message, std::uint64_t position) {
  const std::string_view id = message.text(message.id);
  const std::string name = message.name ? string_value(message.text(message.name)) : std::string();
  const ToolSpec* tool = schema_.find(name);
  if (tool == nullptr)
    return answer(error_answer(id, code::invalid_params, fmt::format("Unknown tool: {}", name)));
  auto refuse = [&](const std::string& why) {
    pool_->count(name, milliseconds(0), true);
    answer(tool_answer(id, fmt::format("[mcpivot] the tool \"{}\" was not run: {}", name, why), true));
  };

  const Arguments arguments(find_member(message.text(message.params), "arguments"));
  if (const auto problems = tool->check->problems(arguments); !problems.empty())
    return refuse(fmt::format("its arguments are wrong.\n{}", fmt::join(problems, "\n")));
  auto words = tool->command.fill(arguments, config_->cli->result_args);
  if (!words) return refuse(fmt::format("{}.", words.error()));

  auto call = std::make_shared<Call>(context_.loop, *tool);
  call->id = id;
  call->token = message.text(message.progress_token);
  call->position = position;
  call->plan.command = config_->command;
  if (!tool->cwd.empty()) move_to(call->plan.command, tool->cwd);
  auto& argv = call->plan.command.argv;
  argv.insert(argv.end(), words->begin(), words->end());
  auto& env = call->plan.command.env;
  env.insert(env.end(), tool->env.begin(), tool->env.end());
  call->plan.input = tool->input_is_json ? std::string(arguments.json())
                     : tool->input       ? tool->input->fill(arguments)
                                         : std::string();
  call->plan.time_limit = tool->timeout.value_or(config_->call_timeout);
  call->plan.over_limit =
      over_limit(call->plan.time_limit, tool->timeout ? "\"timeout\" in its schema" : "--call-timeout");

  calls_.push_back(call);
  call->ticket = pool_->enter(message.raw.size(), [this, weak = std::weak_ptr(call)] {
    if (auto next = weak.lock()) run(next);
  });
  if (call->ticket != 0) return;
  calls_.remove(call);
  refuse(fmt::format("{} calls are already waiting. Try again when some have finished.", pool_->waiting()));
}

void CliBackend::run(const std::shared_ptr<Call>& call) {
  last_started_ = call->position;
  auto output = std::make_shared<CapturedOutput>(config_->cli->max_output, pool_->files(), call->tool.name);
  const std::weak_ptr weak = call;
  call->run = std::make_shared<CliRun>(context_.loop, guard_, std::move(output),
                                       CliRun::Handlers{.on_stderr_line =
                                                            [this, weak](const std::string& line) {
                                                              if (auto still = weak.lock())
                                                                progress(*still, line);
                                                            },
                                                        .on_done =
                                                            [this, weak](const CliRun::Result& result) {
                                                              const auto keep = shared_from_this();
                                                              if (auto still = weak.lock())
                                                                on_done(still, result);
                                                            }});
  log_debug("{}: {}: {}", config_->name, call->tool.name,
            command_text(call->plan.command.argv).substr(0, most_in_log));
  call->run->start(call->plan);
}

void CliBackend::progress(Call& call, const std::string& line) {
  if (ring_ != nullptr) ring_->add(generation_, fmt::format("{}: {}", call.tool.name, line));
  write_to_stderr(line + "\n");
  log_info("{} stderr: {}: {}", config_->name, call.tool.name, line);
  if (call.token.empty() || call.withdrawn || line.empty()) return;
  call.last_line = line;
  if (!call.pacing) send_progress(call);
}

// If several lines come at once, the newest counts.
void CliBackend::send_progress(Call& call) {
  if (call.last_line.empty() || call.withdrawn) return;
  // While the client doesn't read, progress would only pile up.
  if (!paused_)
    answer(request_line({}, "notifications/progress",
                        fmt::format(R"({{"progressToken":{},"progress":{},"message":{}}})", call.token,
                                    ++call.steps, quote(call.last_line))));
  call.last_line.clear();
  call.pacing = true;
  call.pace.expires_after(progress_pace);
  call.pace.async_wait(
      [weak = weak_from_this(), of = call.weak_from_this()](const boost::system::error_code& error) {
        const auto self = weak.lock();
        const auto still = of.lock();
        if (error || !self || !still) return;
        still->pacing = false;
        self->send_progress(*still);
      });
}

void CliBackend::on_done(const std::shared_ptr<Call>& call, const CliRun::Result& result) {
  const CliResult outcome = cli_result({.tool = call->tool,
                                        .run = result,
                                        .output = call->run->output(),
                                        .cwd = call->plan.command.cwd,
                                        .largest_file = config_->max_message / 4 * 3 - 16 * 1024});
  const bool failed = outcome.failed || call->withdrawn;
  pool_->count(call->tool.name, result.took, failed);
  const std::string ended =
      fmt::format("{}: {} after {}", call->tool.name, result.how, duration_text(result.took));
  log_info("{}: {}", config_->name, ended);
  if (!result.ok && ring_ != nullptr) ring_->add(generation_, fmt::format("[mcpivot] {}", ended));
  if (!call->withdrawn) {
    if (!call->last_line.empty()) send_progress(*call);
    answer(result_answer(call->id, outcome.json));
  }
  forget(call);
  end_when_idle();
}

void CliBackend::cancel(std::string_view id) {
  const auto found = std::ranges::find_if(calls_, [&](const auto& call) { return same_id(call->id, id); });
  if (found == calls_.end()) return;
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): forget() takes it out of the list
  const auto call = *found;
  call->withdrawn = true;
  if (call->run) {
    call->run->stop("was stopped because the call was cancelled");
  } else {
    forget(call);
  }
}

void CliBackend::forget(const std::shared_ptr<Call>& call) {
  calls_.remove(call);
  call->pace.cancel();
  pool_->leave(call->ticket);
}

// --- messages out

void CliBackend::pause() {
  paused_ = true;
  pool_->hold();
}

void CliBackend::resume() {
  paused_ = false;
  pool_->resume();  // another generation may have held it
  if (!outbox_.empty()) deliver();
}

void CliBackend::answer(std::string line) {
  outbox_.push_back(std::move(line));
  deliver();
}

void CliBackend::deliver() {
  if (std::exchange(delivering_, true)) return;
  boost::asio::post(context_.loop, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    self->delivering_ = false;
    while (self->handler_ != nullptr && !self->paused_ && !self->outbox_.empty()) {
      const std::string line = std::move(self->outbox_.front());
      self->outbox_.pop_front();
      survive(self->config_->name, [&] { self->hand_over(line); });
    }
  });
}

void CliBackend::hand_over(const std::string& line) {
  if (line.size() > config_->max_message) {
    Skim skim;
    skim.feed(line);
    handler_->on_oversize(skim, config_->max_message);
  } else if (const auto message = read_message(line)) {
    handler_->on_message(*message);
  } else {
    handler_->on_unreadable(line, message.error());
  }
}

}  // namespace mcpivot
