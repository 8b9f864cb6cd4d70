// The transcript format: a reader for its lines, and a matcher for its placeholders.
#include "transcript.h"

#include <fstream>
#include <stdexcept>
#include <utility>

namespace harness {
namespace {

// A piece of a pattern: bytes as they are, or a placeholder for any text (with a name, or an empty one).
struct Piece {
  bool is_any;
  std::string text;
};

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// What begins at `<`: a placeholder and its length, or nothing if it is an ordinary character.
std::optional<std::pair<Piece, std::size_t>> placeholder_at(std::string_view text) {
  const auto end = text.find('>');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = text.substr(1, end - 1);
  if (inside == "any") return {{Piece{true, ""}, end + 1}};
  if (inside.starts_with("any:")) return {{Piece{true, std::string(inside.substr(4))}, end + 1}};
  if (inside.starts_with("hex:")) return {{Piece{false, bytes_of_hex(inside.substr(4))}, end + 1}};
  return std::nullopt;
}

std::vector<Piece> pieces_of(std::string_view pattern) {
  std::vector<Piece> pieces;
  std::string literal;
  while (!pattern.empty()) {
    auto placeholder = pattern.front() == '<' ? placeholder_at(pattern) : std::nullopt;
    if (placeholder && placeholder->first.is_any) {
      pieces.push_back({false, std::exchange(literal, "")});
      pieces.push_back(std::move(placeholder->first));
    } else {
      literal += placeholder ? placeholder->first.text : std::string(1, pattern.front());
    }
    pattern.remove_prefix(placeholder ? placeholder->second : 1);
  }
  pieces.push_back({false, literal});
  return pieces;
}

bool match_from(const std::vector<Piece>& pieces, std::size_t index, std::string_view text,
                Captures& captures) {
  if (index == pieces.size()) return text.empty();
  const Piece& piece = pieces[index];
  const auto known = piece.is_any ? captures.find(piece.text) : captures.end();
  if (!piece.is_any || known != captures.end()) {
    const std::string& literal = piece.is_any ? known->second : piece.text;
    return text.starts_with(literal) && match_from(pieces, index + 1, text.substr(literal.size()), captures);
  }
  for (std::size_t length = 1; length <= text.size(); ++length) {
    Captures attempt = captures;
    if (!piece.text.empty()) attempt[piece.text] = text.substr(0, length);
    if (!match_from(pieces, index + 1, text.substr(length), attempt)) continue;
    captures = std::move(attempt);
    return true;
  }
  return false;
}

// Words; one in single quotes may contain spaces.
std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool begun = false;
  for (const char c : text) {
    if (c == '\'') {
      quoted = !quoted;
      begun = true;
    } else if (c == ' ' && !quoted) {
      if (begun) words.push_back(std::exchange(word, ""));
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) words.push_back(word);
  return words;
}

// The rest of `line` after `prefix` and one space.
std::optional<std::string> after(std::string_view line, std::string_view prefix) {
  if (line == prefix) return "";
  if (!line.starts_with(prefix) || line[prefix.size()] != ' ') return std::nullopt;
  return std::string(line.substr(prefix.size() + 1));
}

bool read_line_of(Transcript& transcript, std::string_view line, int number) {
  static const std::vector<std::pair<std::string_view, Step>> steps = {{">", Step::client_sends},
                                                                       {"<", Step::client_receives},
                                                                       {"S>", Step::server_sends},
                                                                       {"S<", Step::server_receives}};
  if (line.empty() || line.front() == '#') return true;
  if (const auto options = after(line, "run:")) {
    transcript.options = split_words(*options);
  } else if (const auto server = after(line, "server:")) {
    transcript.server = split_words(*server);
  } else if (const auto version = after(line, "handshake:")) {
    transcript.handshake = *version;
  } else {
    for (const auto& [prefix, step] : steps) {
      if (auto text = after(line, prefix)) {
        transcript.lines.push_back({step, std::move(*text), number});
        return true;
      }
    }
    return false;
  }
  return transcript.lines.empty();  // headers come first
}

}  // namespace

Transcript read_transcript(const std::filesystem::path& file) {
  Transcript transcript;
  transcript.file = file;
  std::ifstream stream(file);
  int number = 0;
  for (std::string line; std::getline(stream, line);)
    if (!read_line_of(transcript, line, ++number))
      throw std::runtime_error(file.native() + ":" + std::to_string(number) + ": no such line: " + line);
  return transcript;
}

std::string expand(std::string_view pattern, const Captures& captures) {
  std::string text;
  for (const Piece& piece : pieces_of(pattern)) {
    if (!piece.is_any) {
      text += piece.text;
    } else if (const auto known = captures.find(piece.text); known != captures.end()) {
      text += known->second;
    } else {
      throw std::runtime_error("<any:" + piece.text + "> has no value yet");
    }
  }
  return text;
}

bool matches(std::string_view pattern, std::string_view text, Captures& captures) {
  return match_from(pieces_of(pattern), 0, text, captures);
}

}  // namespace harness
