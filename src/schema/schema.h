// A JSON Schema, compiled once and checked often: whether a value fits it, and if not, where and why in words
// that a model can act on ("limit: expected an integer from 1 to 100, got \"many\"").
//
// The dialect is draft 2020-12, with all its required keywords. Left out: references to other documents (a
// schema that has one can't be compiled), "$dynamicRef", "$vocabulary" and custom metaschemas; "format" is an
// annotation. Spellings of draft 7 that 2020-12 dropped keep their meaning, because servers send them:
// - "definitions" is reached by pointers, as any place is.
// - "dependencies" is checked in every dialect: nothing else has that name.
// - "items" with an array, then also "additionalItems": only draft 7 has that form.
// - "$id": "#name" is an anchor.
// - If "$schema" names draft 4, 6 or 7, keywords next to "$ref" are ignored.
//
// Nothing here runs forever or overflows the stack, whatever the schema and the value: depth is limited,
// patterns give up after too many steps, and a check has a budget of steps; a check that exceeds it says
// so.
//
// Schemas are immutable: any thread, also concurrently.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

namespace mcpivot::schema {

struct Program;

// How problems refer to the value.
struct Naming {
  std::string_view whole = "the value";
  std::string_view member = "property";  // a member of the value itself
  // JSON Schema treats 1.0 as an integer. Not everyone who gets the value does.
  bool whole_is_integer = true;
};

struct Verdict {
  std::vector<std::string> problems;  // the first ones, a sentence each; empty: the value fits
  std::size_t more = 0;               // further problems
  bool given_up = false;              // it's not known whether the value fits; the problem says why
  bool fits() const { return problems.empty(); }
};

class Schema {
 public:
  // The error says what in the schema can't be used, and where. Copies what it needs.
  static std::expected<Schema, std::string> compile(const boost::json::value& schema);
  Schema(Schema&& other) noexcept;
  Schema& operator=(Schema&& other) noexcept;
  ~Schema();

  Verdict check(const boost::json::value& value, const Naming& naming = {}) const;
  // What in the schema isn't checked, a sentence each.
  const std::vector<std::string>& notes() const;

 private:
  explicit Schema(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

}  // namespace mcpivot::schema
