// A CLI that describes its tools with the content of a file, and misbehaves as its arguments say.
//
//   fake_cli SCHEMA schema --json        prints the file SCHEMA, and obeys lines in it that begin with "!"
//   fake_cli SCHEMA DEED [ARGUMENT…]     see the table at the end
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;
namespace json = boost::json;

[[noreturn]] void wait_for_ever() {
  while (true) pause();
}

// Until the process that has the FIFO open for writing closes it.
void wait_at(const std::string& gate) {
  std::ifstream file(gate);
  std::string(std::istreambuf_iterator<char>(file), {});
}

void note(const std::string& file, const std::string& text) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (write(descriptor, text.data(), text.size()) < 0) std::perror("write");
  close(descriptor);
}

int print_schema(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::cerr << "no schema file " << path << "\n";
    return 1;
  }
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("!exit ")) return std::stoi(line.substr(6));
    if (line == "!hang") wait_for_ever();
    if (line.starts_with("!wait ")) {
      wait_at(line.substr(6));
      continue;
    }
    if (line.starts_with("!stderr ")) {
      std::cerr << line.substr(8) << "\n";
    } else {
      std::cout << line << "\n";
    }
  }
  return 0;
}

// Leaves a child behind that has our pipes open; in its own session if it is to escape.
int leave_child(const std::string& pid_file, bool flees) {
  int ready[2];
  if (pipe(ready) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    if (flees) setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (write(ready[1], "", 1) != 1) _exit(1);
    wait_for_ever();
  }
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) return 1;
  note(pid_file, std::to_string(child) + "\n");
  std::cout << "left\n";
  return 0;
}

int flood(std::size_t bytes) {
  const std::string line(99, 'x');
  for (std::size_t done = 0; done < bytes; done += 100) {
    const std::string number = std::to_string(done);
    std::cout << number << line.substr(number.size()) << "\n";
  }
  std::cout << std::flush;
  return std::cout ? 0 : 1;
}

const std::map<std::string, std::function<int(const Words&)>> deeds = {
    {"args",
     [](const Words& words) {
       std::cout << json::object{{"args", json::array(words.begin(), words.end())}} << "\n";
       return 0;
     }},
    {"stdin",
     [](const Words&) {
       const std::string text(std::istreambuf_iterator<char>(std::cin), {});
       std::cout << json::object{{"size", text.size()}, {"text", text.substr(0, 1000)}} << "\n";
       return 0;
     }},
    {"ignore-stdin", [](const Words&) { return std::puts("did not read") < 0 ? 1 : 0; }},
    {"surroundings",
     [](const Words& words) {
       const char* value = getenv(words.at(0).c_str());
       std::cout << json::object{{"cwd", std::filesystem::current_path().string()},
                                 {"value", value ? value : "(unset)"}};
       return 0;
     }},
    {"print", [](const Words& words) { return std::cout << words.at(0), 0; }},
    {"fail",
     [](const Words& words) {
       std::cout << "some output\n";
       std::cerr << "what went wrong\n";
       return std::stoi(words.at(0));
     }},
    {"die",
     [](const Words& words) {
       std::signal(std::stoi(words.at(0)), SIG_DFL);  // sanitizers have handlers of their own
       return raise(std::stoi(words.at(0)));
     }},
    {"flood", [](const Words& words) { return flood(std::stoul(words.at(0))); }},
    {"garbage",
     [](const Words&) {
       for (int i = 0; i < 256; ++i) std::cout << static_cast<char>(i);
       return 0;
     }},
    {"wait",
     [](const Words& words) {
       if (words.size() > 1) std::cerr << words[1] << "\n";
       wait_at(words.at(0));
       std::cout << "waited";
       return 0;
     }},
    {"steps",
     [](const Words& words) {  // one step for each gate
       for (const std::string& gate : words) {
         std::cerr << "at " << gate << "\n";
         wait_at(gate);
       }
       return 0;
     }},
    {"stubborn",
     [](const Words& words) {
       signal(SIGTERM, SIG_IGN);
       if (fork() == 0) wait_for_ever();
       note(words.at(0), std::to_string(getpid()) + "\n");
       wait_for_ever();
       return 0;
     }},
    {"leave-child", [](const Words& words) { return leave_child(words.at(0), false); }},
    {"lose-child", [](const Words& words) { return leave_child(words.at(0), true); }},
    {"record",
     [](const Words& words) {  // a line in a file, and on stdout
       note(words.at(0), words.at(1) + "\n");
       std::cout << words.at(1);
       return 0;
     }},
    {"crowd",
     [](const Words& words) {  // a file records when it starts and when it ends
       note(words.at(0), "+");
       usleep(10'000);
       note(words.at(0), "-");
       return 0;
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv + 1, argv + argc);
  if (words.size() < 2) return 2;
  if (words[1] == "schema") return print_schema(words[0]);
  const auto deed = deeds.find(words[1]);
  if (deed == deeds.end()) {
    std::cerr << "no deed " << words[1] << "\n";
    return 2;
  }
  return deed->second(Words(words.begin() + 2, words.end()));
}
