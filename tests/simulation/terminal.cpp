#include "terminal.h"

#include <fmt/format.h>

#include <sstream>

#include "client.h"
#include "rpc/answers.h"

namespace simulation {

void Terminal::type(int number, const std::string& text) {
  std::istringstream words(text);
  std::string tool;
  std::string arguments;
  words >> tool >> arguments;
  const auto separator = tool.find("__");
  const bool of_server = separator != std::string::npos;
  oracle_.will_ask({.number = number,
                    .who = who_,
                    .server = of_server ? tool.substr(0, separator) : std::string(),
                    .may_repeat = tool.ends_with("__look"),
                    .is_call = of_server,
                    .has_token = false});
  if (of_server) arguments = call_from("x " + arguments, number).arguments;
  const std::string line =
      mcpivot::request_line(Oracle::spelled(number), "tools/call",
                            fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments));
  const auto message = mcpivot::read_message(line);
  if (!message) return oracle_.violate("a terminal typed nonsense: " + line);
  oracle_.given(who_, *message);
  if (clients_.observed())
    clients_.saw({.way = mcpivot::Seen::Way::from_client,
                  .what = mcpivot::Seen::What::passed,
                  .client = id_,
                  .terminal = true,
                  .raw = message->raw,
                  .message = &*message});
  if (tools_.has(tool)) return tools_.call({.client = id_}, *message);
  if (const mcpivot::Routes::Target* target = desk_.fleet().names().tool(tool))
    return desk_.fleet().call_tool({.client = id_}, *message, *target);
  clients_.refuse({.client = id_},
                  mcpivot::error_answer(message->text(message->id), mcpivot::code::invalid_params,
                                        "no tool is called so"));
}

void Terminal::leave() {
  left_ = true;
  oracle_.gone(who_);
  desk_.forget(id_);
  tools_.forget(id_);
}

void Terminal::answer(std::uint32_t, std::string_view line) {
  oracle_.said(who_, line);
  if (left_) oracle_.violate(fmt::format("a terminal that is gone was told: {}", line.substr(0, 300)));
}

}  // namespace simulation
