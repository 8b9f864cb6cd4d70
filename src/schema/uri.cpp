#include "schema/uri.h"

#include <algorithm>
#include <charconv>

namespace mcpivot::schema {
namespace {

// scheme:, //authority, path and ?query, each with its mark; no fragment.
struct Uri {
  std::string_view scheme, authority, path, query;
};

Uri split(std::string_view text) {
  text = text.substr(0, text.find('#'));
  Uri uri;
  const std::size_t mark = text.find_first_of(":/?");
  if (mark != std::string_view::npos && mark > 0 && text[mark] == ':') {
    uri.scheme = text.substr(0, mark + 1);
    text.remove_prefix(mark + 1);
  }
  const std::size_t query = std::min(text.find('?'), text.size());
  uri.query = text.substr(query);
  text = text.substr(0, query);
  if (text.starts_with("//")) {
    const std::size_t end = std::min(text.find('/', 2), text.size());
    uri.authority = text.substr(0, end);
    text.remove_prefix(end);
  }
  uri.path = text;
  return uri;
}

// "/a/b/../c" is "/a/c".
std::string without_dots(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    const bool up = segment == "/.." || segment == "..";
    if (up) out.erase(std::min(out.rfind('/'), out.size()));
    if (!up && segment != "/." && segment != ".")
      out += segment;
    else if (path.empty())
      out += '/';
  }
  return out;
}

std::string joined(std::string_view scheme, std::string_view authority, std::string_view path,
                   std::string_view query) {
  std::string out;
  for (const std::string_view part : {scheme, authority, path, query}) out += part;
  return out;
}

}  // namespace

std::string resolve_uri(std::string_view base_text, std::string_view reference) {
  const Uri base = split(base_text);
  const Uri uri = split(reference);
  // The path of "urn:a/../b" has no segments.
  if (!uri.scheme.empty())
    return joined(uri.scheme, uri.authority,
                  uri.path.starts_with('/') ? without_dots(uri.path) : std::string(uri.path), uri.query);
  if (!uri.authority.empty()) return joined(base.scheme, uri.authority, without_dots(uri.path), uri.query);
  if (uri.path.empty())
    return joined(base.scheme, base.authority, base.path, uri.query.empty() ? base.query : uri.query);
  std::string path(uri.path);
  if (!uri.path.starts_with('/')) {
    const std::size_t slash = base.path.rfind('/');
    const std::string_view folder = slash != std::string_view::npos ? base.path.substr(0, slash + 1)
                                    : base.authority.empty()        ? ""
                                                                    : "/";
    path.insert(0, folder);
  }
  return joined(base.scheme, base.authority, without_dots(path), uri.query);
}

std::string fragment_of(std::string_view reference) {
  const std::size_t mark = reference.find('#');
  if (mark == std::string_view::npos) return {};
  std::string fragment;
  for (std::size_t i = mark + 1; i < reference.size(); ++i) {
    unsigned code = 0;
    const char* digits = reference.data() + i + 1;
    const bool encoded = reference[i] == '%' && i + 2 < reference.size() &&
                         std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2;
    fragment += encoded ? static_cast<char>(code) : reference[i];
    if (encoded) i += 2;
  }
  return fragment;
}

}  // namespace mcpivot::schema
