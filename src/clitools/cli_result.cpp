#include "clitools/cli_result.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/duration_text.h"
#include "base/text.h"
#include "base/utf8.h"
#include "clitools/compact_json.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

std::string text_block(std::string_view text) {
  return fmt::format(R"({{"type":"text","text":{}}})", quote(text));
}

std::string result_of(std::string_view content, bool is_error, std::string_view more = {}) {
  return fmt::format(R"({{"content":[{}]{},"isError":{}}})", content, more, is_error);
}

// --- files

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = i; j < i + 3; ++j)
      bits = bits << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      result += i + j <= bytes.size() ? digits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return result;
}

// An object that names a file and says what is in it, and nothing else.
bool is_file(std::string_view json) {
  if (!json.starts_with('{')) return false;
  const Arguments members(json);
  return members.all().size() == 2 && members.find("file").starts_with('"') &&
         members.find("mimeType").starts_with('"');
}

// The error says why it cannot be read.
std::expected<std::string, std::string> read_file(const std::string& path, std::size_t limit) {
  // Nonblocking, so that opening a pipe doesn't wait for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return std::unexpected(std::strerror(errno));
  std::string bytes;
  std::string trouble;
  struct stat info{};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    trouble = "it isn't a regular file";
  } else if (static_cast<std::size_t>(info.st_size) > limit) {
    trouble = fmt::format("it has {} bytes, and a message can hold {}", info.st_size, limit);
  } else {
    bytes.resize(static_cast<std::size_t>(info.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = ::read(file, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) trouble = std::strerror(errno);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
    bytes.resize(done);
  }
  ::close(file);
  if (!trouble.empty()) return std::unexpected(trouble);
  return bytes;
}

std::string file_uri(const std::string& path) {
  std::string uri = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 128 && (std::isalnum(byte) != 0 ||
                                      std::string_view("/-._~").find(c) != std::string_view::npos);
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

bool is_text(std::string_view type) {
  return type.starts_with("text/") || type == "application/json" || type == "image/svg+xml" ||
         type.ends_with("+json") || type.ends_with("+xml") || type == "application/xml";
}

// The result of a call, as assembled so far.
struct Content {
  std::string blocks;
  bool failed = false;

  void add(std::string_view block) {
    if (!blocks.empty()) blocks += ',';
    blocks += block;
  }

  void add_file(std::string_view json, const FinishedCall& call) {
    const std::string type = string_value(find_member(json, "mimeType"));
    const std::filesystem::path named = string_value(find_member(json, "file"));
    std::error_code ignored;
    const std::string path =
        std::filesystem::absolute(std::filesystem::path(call.cwd) / named, ignored).lexically_normal();
    const auto bytes = read_file(path, call.largest_file);
    if (!bytes) {
      failed = true;
      return add(text_block(
          fmt::format("[mcpivot] the file {} ({}) cannot be returned: {}.", path, type, bytes.error())));
    }
    const std::string mime = quote(type);
    const bool image = type.starts_with("image/") && type != "image/svg+xml";
    if (image || type.starts_with("audio/"))
      return add(fmt::format(R"({{"type":"{}","data":"{}","mimeType":{}}})", image ? "image" : "audio",
                             base64(*bytes), mime));
    const bool text = is_text(type) && is_utf8(*bytes);
    add(fmt::format(R"({{"type":"resource","resource":{{"uri":{},"mimeType":{},"{}":{}}}}})",
                    quote(file_uri(path)), mime, text ? "text" : "blob",
                    text ? quote(*bytes) : quote(base64(*bytes))));
  }
};

// Whether this is a list of MCP content blocks, or of files to be turned into blocks.
bool is_content(std::string_view json) {
  if (!json.starts_with('[')) return false;
  return std::ranges::all_of(elements_of(json), [](std::string_view element) {
    return is_file(element) || (element.starts_with('{') && find_member(element, "type").starts_with('"'));
  });
}

CliResult from_object(std::string_view object, const FinishedCall& call) {
  Content content;
  if (is_file(object)) {
    content.add_file(object, call);
    return {result_of(content.blocks, content.failed), content.failed};
  }
  const std::string_view blocks = find_member(object, "content");
  if (!is_content(blocks)) {
    return {result_of(text_block(object), false,
                      fmt::format(R"(,"structuredContent":{})", compact_json(object)))};
  }
  for (const std::string_view block : elements_of(blocks)) {
    if (is_file(block)) {
      content.add_file(block, call);
    } else {
      content.add(compact_json(block));
    }
  }
  std::string more;
  for (const char* key : {"structuredContent", "_meta"})
    if (const std::string_view value = find_member(object, key); value.starts_with('{'))
      more += fmt::format(R"(,"{}":{})", key, compact_json(value));
  const bool failed = content.failed || find_member(object, "isError") == "true";
  return {result_of(content.blocks, failed, more), failed};
}

// --- failures

CliResult failure(const FinishedCall& call, const std::string& how) {
  std::string text = fmt::format("[mcpivot] {}\n", how);
  const std::string output = call.output.text();
  if (!trimmed(output).empty()) text += fmt::format("stdout:\n{}\n", trimmed(output));
  if (!trimmed(call.run.stderr_tail).empty())
    text += fmt::format("stderr, last lines:\n{}\n", trimmed(call.run.stderr_tail));
  return {result_of(text_block(trimmed(text)), true), true};
}

// With the time that it took, unless the reason isn't about the program's own end.
std::string ending_of(const FinishedCall& call) {
  const std::string& how = call.run.how;
  const bool ended_itself = how.starts_with("exited") || how.starts_with("was killed");
  return ended_itself ? fmt::format("{} after {}", how, duration_text(call.run.took)) : how;
}

// Where a result differs from what its tool promises, one line each; empty: nowhere.
std::string misfits(const CliResult& result, const ToolSpec& tool) {
  const std::string_view structured = find_member(result.json, "structuredContent");
  if (!tool.result_check || structured.empty()) return {};
  return fmt::format(
      "{}", fmt::join(tool.result_check->problems(Arguments(structured), ArgumentCheck::of_a_result), "\n"));
}

}  // namespace

CliResult cli_result(const FinishedCall& call) {
  if (!call.run.started)
    return failure(call,
                   fmt::format("the tool \"{}\" was not run: {}. Nothing happened; fix that and call again.",
                               call.tool.name, call.run.how));
  if (!call.run.ok)
    return failure(call, fmt::format("the program of the tool \"{}\" {}.", call.tool.name, ending_of(call)));
  const std::string_view whole = call.output.cut() ? std::string_view() : trimmed(call.output.whole());
  if (whole.starts_with('{') && is_json(whole)) {
    CliResult result = from_object(whole, call);
    if (const std::string where = misfits(result, call.tool); !where.empty())
      return failure(call, fmt::format("the program of the tool \"{}\" printed something that doesn't match "
                                       "the tool's \"outputSchema\".\n{}",
                                       call.tool.name, where));
    const bool misses =
        call.tool.structured && !result.failed && find_member(result.json, "structuredContent").empty();
    if (!misses) return result;
  }
  if (call.tool.structured)
    return failure(
        call, fmt::format("the tool \"{}\" promises an \"outputSchema\", but its program printed no JSON "
                          "object{}.",
                          call.tool.name, call.output.cut() ? " that fits --max-output" : ""));
  std::string text = call.output.text();
  text.erase(text.find_last_not_of("\r\n") + 1);
  if (text.empty()) text = "(the program succeeded and printed nothing)";
  return {result_of(text_block(text), false)};
}

}  // namespace mcpivot
