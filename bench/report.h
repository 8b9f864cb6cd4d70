// The result of the contest: the table, the bars that mcpivot must meet, and both as JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "contest.h"

enum class Verdict { pass, fail, skipped };

struct Bar {
  Verdict verdict = Verdict::fail;
  std::string text;  // what was asked and what was measured
};

// The contestants by their part in the report; any of them may lack values.
struct Cast {
  const Contestant& direct;
  const Contestant& floor;
  const Contestant& mcpivot;
  const Contestant& mcp_sitter;
  const Contestant& bridged;  // mcpivot between a client and a server of different eras
};

std::string table(const Cast& cast);
std::vector<Bar> judge(const Cast& cast);
std::string lines_of(const std::vector<Bar>& bars);
// Failures and helper processes, one line each; empty if there is nothing to report.
std::string notes(const Cast& cast);
std::string json_of(const Cast& cast, const std::vector<Bar>& bars);
