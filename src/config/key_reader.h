// Reads one object of a configuration by a table of keys: checks each value against what its key allows,
// fills in variables, makes paths absolute, and stores it where the key says. Problems are reported with
// their place.
//
// One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/keys.h"
#include "config/problem_list.h"
#include "config/variables.h"

namespace mcpivot {

class KeyReader {
 public:
  // All of it must outlive the reader. Relative paths start from `folder`.
  KeyReader(ProblemList& problems, const Surroundings& surroundings, const std::string& folder)
      : problems_(problems), surroundings_(surroundings), folder_(folder) {}

  // A key that the object has, and where.
  struct Given {
    const Key* key;
    std::string_view name;  // as spelled there
    JsoncPlace place;
  };
  using TargetOf = std::function<Target(const Key&)>;
  using OnUnknown = std::function<void(const JsoncMember&)>;

  // `whose` is as in: "watch" of WHOSE. Keys in groups are among those returned; null counts as not given. A
  // key that isn't in the table is a warning or an error, unless there is an on_unknown to handle it.
  std::vector<Given> read(const JsoncValue& object, std::span<const Key> keys, const std::string& whose,
                          const TargetOf& target_of, const OnUnknown& on_unknown = {});

  // People leave notes for themselves in files that can't have comments.
  static bool is_note(std::string_view key);
  // A key that appears twice is an error.
  void refuse_duplicates(const JsoncValue& object, const std::string& whose);
  // An error if it seems to be a key that restricts something.
  void warn_unknown(const JsoncMember& member, std::span<const Key> keys, const std::string& whose);

 private:
  void read_value(const Key& key, const JsoncValue& value, const std::string& where, const Target& target);
  void read_texts(const Key& key, const JsoncValue& value, const std::string& where, Texts& into);
  void read_pairs(const Key& key, const JsoncValue& value, const std::string& where, Pairs& into);
  void read_globs(const Key& key, const JsoncValue& value, const std::string& where, const WatchTarget& into);
  void read_profiles(const Key& key, const JsoncValue& value, const std::string& where,
                     std::map<std::string, Profile>& into);
  void read_number(const Key& key, const JsoncValue& value, const std::string& where, std::size_t& into);
  void check_new_names(const JsoncValue& value, const std::string& where, const Pairs& names);
  // The text of a string, with variables filled in. Nothing: an error, which has been reported.
  std::optional<std::string> text(const JsoncValue& value, const std::string& where);
  std::optional<std::chrono::milliseconds> time(const Key& key, const JsoncValue& value,
                                                const std::string& where);
  std::string absolute(std::string path) const;
  void refuse(const Key& key, const JsoncValue& value, const std::string& where);

  ProblemList& problems_;
  const Surroundings& surroundings_;
  const std::string& folder_;
  // In what restricts something: what would be ignored elsewhere is an error.
  bool strict_ = false;
};

}  // namespace mcpivot
