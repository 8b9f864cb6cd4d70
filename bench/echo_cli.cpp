// The least CLI that describes a tool: what the benchmark calls, directly and through mcpivot.
#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "schema") == 0) {
    std::puts(
        R"({"tools":[{"name":"echo","parameters":{"properties":{"text":{"type":"string"}},"required":["text"]},)"
        R"("cli_command":["echo","--text={text}"]}]})");
    return 0;
  }
  if (argc < 3) return 2;
  std::printf("{\"text\":\"%s\"}\n", argv[2]);
  return 0;
}
