// Whole conversations as text files, played against mcpivot byte for byte. transcripts/README.md has the
// format.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

enum class Step { client_sends, client_receives, server_sends, server_receives };

struct TranscriptLine {
  Step step;
  std::string text;
  int number = 0;  // in its file, from 1
};

struct Transcript {
  std::filesystem::path file;
  std::vector<std::string> options;      // of mcpivot
  std::vector<std::string> server;       // of the fake server
  std::optional<std::string> handshake;  // a protocol version: the player shakes hands first
  std::vector<TranscriptLine> lines;
};

// Throws with file and line if it is malformed.
Transcript read_transcript(const std::filesystem::path& file);

using Captures = std::map<std::string, std::string>;

// What `pattern` stands for when it is sent: captured texts and bytes put in. Throws if a name has no value
// yet.
std::string expand(std::string_view pattern, const Captures& captures);

// Whether `text` is what `pattern` describes; then the names that it meets for the first time get their
// values.
bool matches(std::string_view pattern, std::string_view text, Captures& captures);

}  // namespace harness
