#include "schema/schema.h"

#include "schema/check.h"
#include "schema/program.h"

namespace mcpivot::schema {

Schema::Schema(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
Schema::Schema(Schema&& other) noexcept = default;
Schema& Schema::operator=(Schema&& other) noexcept = default;
Schema::~Schema() = default;

std::expected<Schema, std::string> Schema::compile(const boost::json::value& schema) {
  auto program = schema::compile(schema);
  if (!program) return std::unexpected(std::move(program.error()));
  return Schema(std::make_unique<const Program>(std::move(*program)));
}

Verdict Schema::check(const boost::json::value& value, const Naming& naming) const {
  return Check(*program_, naming).run(value);
}

const std::vector<std::string>& Schema::notes() const {
  return program_->notes;
}

}  // namespace mcpivot::schema
