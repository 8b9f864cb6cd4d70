// What `./dev demo` shows: a scripted client, mcpivot, and a real server behind it, with every line that
// crosses the client's connection. Nothing is staged: what you see is what was sent.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace {

const bool colours = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;

void print(const char* colour, const std::string& text) {
  std::cout << (colours ? colour : "") << text << (colours ? "\033[0m" : "") << std::endl;
}
void tell(const std::string& text) {
  print("\033[1m", "\n" + text);
}

// mcpivot as a child, with its stdin and stdout in our hands.
class Client {
 public:
  explicit Client(const std::vector<std::string>& command) {
    int in[2];
    int out[2];
    if (::pipe(in) != 0 || ::pipe(out) != 0) throw std::runtime_error("no pipes");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      for (const int end : {in[0], in[1], out[0], out[1]}) ::close(end);
      std::vector<char*> arguments;
      for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      std::perror("exec");
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
  }

  void send(const std::string& line) {
    print("\033[36m", "  client > " + line);
    std::fprintf(to_, "%s\n", line.c_str());
    std::fflush(to_);
  }
  // Sends a request and shows the answer.
  void ask(const std::string& line) {
    send(line);
    char* text = nullptr;
    std::size_t size = 0;
    if (::getline(&text, &size, from_) < 0) throw std::runtime_error("mcpivot closed the connection");
    std::string answer(text);
    std::free(text);
    answer.pop_back();
    print("\033[32m", "  client < " + answer);
  }
  int close() {
    std::fclose(to_);
    std::fclose(from_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return status;
  }

 private:
  pid_t pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: demo MCPIVOT\n";
    return 2;
  }
  const std::filesystem::path mcpivot = std::filesystem::absolute(argv[1]);
  const std::string server = mcpivot.parent_path() / "notes_server";
  try {
    tell("A client starts mcpivot, and mcpivot the server: mcpivot --name notes -- notes_server");
    Client client({mcpivot, "--name", "notes", "--", server});

    tell("They shake hands. mcpivot adds what a later server might have, and tools of its own to the list.");
    client.ask(
        R"({"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}})");
    client.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    client.ask(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");

    tell("Calls pass both ways. Ids keep their type and spelling, wherever they stand.");
    client.ask(
        R"({"jsonrpc":"2.0","id":"one","method":"tools/call","params":{"name":"add_note","arguments":{"text":"buy milk"}}})");
    client.ask(
        R"({"method":"tools/call","params":{"name":"list_notes"},"jsonrpc":"2.0","id":9007199254740993})");

    tell("A line that is no message is refused, and the connection goes on.");
    client.ask("this is not JSON");
    client.ask(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");

    tell("The client leaves; mcpivot ends the server and everything it started.");
    return client.close() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "demo: " << error.what() << "\n";
    return 1;
  }
}
