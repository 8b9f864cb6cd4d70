// The command line of a benchmark. Each supports --help; unknown words are reported on stderr with its usage,
// and it exits with 2.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

class CommandLine {
 public:
  CommandLine(std::string_view program, std::string_view usage) : program_(program), usage_(usage) {
    flag("--help", [this] {
      fmt::print("{}", usage_);
      std::exit(0);
    });
  }
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  void flag(std::string_view name, std::function<void()> given) { flags_[name] = std::move(given); }
  void flag(std::string_view name, bool& given) {
    flag(name, [&given] { given = true; });
  }
  // With an argument.
  void option(std::string_view name, std::function<void(std::string_view)> take) {
    options_[name] = std::move(take);
  }

  // In the order in which they were given.
  void read(int argc, char** argv) const {
    for (int i = 1; i < argc; ++i) {
      const std::string_view name = argv[i];
      if (const auto flag = flags_.find(name); flag != flags_.end()) {
        flag->second();
      } else if (const auto option = options_.find(name); option != options_.end()) {
        if (++i == argc) refuse(fmt::format("{} needs an argument", name));
        option->second(argv[i]);
      } else {
        refuse(fmt::format("no option '{}'", name));
      }
    }
  }

  [[noreturn]] void refuse(std::string_view why) const {
    fmt::print(stderr, "{}: {}\n\n{}", program_, why, usage_);
    std::exit(2);
  }

 private:
  std::string_view program_;
  std::string_view usage_;
  std::map<std::string_view, std::function<void()>> flags_;
  std::map<std::string_view, std::function<void(std::string_view)>> options_;
};

// The options that most benchmarks have.
struct UsualOptions {
  bool quick = false;  // fewer rounds
  bool check = false;  // exit with 1 if a bar is not met
};

inline UsualOptions usual_options(std::string_view program, int argc, char** argv) {
  UsualOptions options;
  const std::string usage = fmt::format("usage: {} [--quick] [--check]\n", program);
  CommandLine line(program, usage);
  line.flag("--quick", options.quick);
  line.flag("--check", options.check);
  line.read(argc, argv);
  return options;
}
