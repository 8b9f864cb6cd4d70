#include "server/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/duration_text.h"
#include "base/utf8.h"
#include "config/tool_pattern.h"
#include "log/log.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_calls = 100;     // of one check
constexpr std::size_t at_once = 4;          // asked, and not answered yet
constexpr std::size_t most_told = 3;        // calls that differ
constexpr std::size_t most_arguments = 60;  // of a call, in bytes

bool is_task(const Item& tool) {
  return find_member(find_member(tool.json, "execution"), "taskSupport") == R"("required")";
}

// "search {"query":"x"}"
std::string shown(const CheckedCall& call) {
  if (call.arguments.empty() || call.arguments == "{}") return call.tool;
  return fmt::format("{} {}", call.tool, shown_text(call.arguments, most_arguments));
}

std::string shown(const CheckReport::Difference& difference, bool with_values) {
  const std::string call = with_values ? shown(difference.call) : difference.call.tool;
  if (difference.is_gone()) return fmt::format("{}: the tool is gone", call);
  const AnswerDifference& first = difference.diff.first.front();
  const std::string more =
      difference.diff.count > 1 ? fmt::format(" (and {} more)", difference.diff.count - 1) : std::string();
  if (with_values) return fmt::format("{}: {}{}", call, first.text(), more);
  return first.path.empty() ? call : fmt::format("{}: {}{}", call, first.path, more);
}

}  // namespace

// --- which tools -------------------------------------------------------------------------------------------

struct SafeTools::Listed {
  std::vector<ToolPattern> patterns;
};

SafeTools::SafeTools(const std::vector<std::string>& patterns) {
  Listed listed;
  for (const std::string& text : patterns)
    if (auto pattern = ToolPattern::compile(text)) listed.patterns.push_back(std::move(*pattern));
  listed_ = std::make_shared<const Listed>(std::move(listed));
}

bool SafeTools::has(const Item& tool) const {
  if (is_task(tool)) return false;
  return is_harmless(tool) || std::ranges::any_of(listed_->patterns, [&](const ToolPattern& pattern) {
           return pattern.matches(tool.key);
         });
}

// --- what is told ------------------------------------------------------------------------------------------

std::string CheckReport::summary() const {
  if (!trouble.empty()) return fmt::format("No recorded calls were checked: {}.", trouble);
  const std::size_t checked = same + differ.size();
  const std::string unfinished =
      late == 0 ? std::string()
                : fmt::format("{} not checked (no answer within {})", late, duration_text(budget));
  if (checked == 0 && late > 0) return fmt::format("Recorded calls: {}.", unfinished);
  if (checked == 0)
    return "No recorded call is safe to repeat, so none was checked. List the tools that are safe to repeat "
           "in \"replay_safe\".";
  std::string text = differ.empty()
                         ? fmt::format("{} of {} recorded calls answer the same", same, checked)
                         : fmt::format("{} of {} recorded calls answer the same, {} {}", same, checked,
                                       differ.size(), differ.size() == 1 ? "differs" : "differ");
  if (late > 0) text += "; " + unfinished;
  return text + ".";
}

std::string CheckReport::text(bool with_values) const {
  std::string text = summary();
  for (std::size_t i = 0; i < std::min(most_told, differ.size()); ++i)
    text += fmt::format("\n  {}", shown(differ[i], with_values));
  if (differ.size() > most_told) text += fmt::format("\n  and {} more", differ.size() - most_told);
  return text;
}

// --- the check ---------------------------------------------------------------------------------------------

Verification::Verification(Generation& generation, const Catalog& before, const Catalog& now,
                           const AcceptedAnswers& accepted, MayCall may_call, Timers& timers)
    : generation_(generation),
      before_(before),
      now_(now),
      accepted_(accepted),
      may_call_(std::move(may_call)),
      deadline_(timers) {
  const VerifyConfig& config = generation.config().verify;
  report_.budget = config.budget;
  if (auto ignored = IgnoredPaths::parse(config.ignore)) ignored_ = std::move(*ignored);
}

void Verification::start(World& world, OnDone on_done) {
  on_done_ = std::move(on_done);
  deadline_.set(report_.budget, [this] {
    const auto keep = shared_from_this();
    report_.late += waiting_.size() + asked_.size();
    if (!begun_) cannot_read(fmt::format("they could not be read within {}", duration_text(report_.budget)));
    finish();
  });
  world.calls_to_check(generation_.config(), [weak = weak_from_this()](CallsToCheck calls) {
    if (const auto self = weak.lock()) self->begin(std::move(calls));
  });
}

void Verification::begin(CallsToCheck calls) {
  if (!on_done_) return;  // the time is up
  begun_ = true;
  if (!calls) {
    cannot_read(std::move(calls.error()));
    return finish();
  }
  if (calls->calls.empty())
    report_.trouble = calls->why_none.empty() ? "there are none yet" : std::move(calls->why_none);
  if (const auto ignored = IgnoredPaths::parse(calls->ignore)) ignored_.add(*ignored);
  select(std::move(calls->calls));
  send();
}

void Verification::cannot_read(std::string why) {
  report_.trouble = std::move(why);
  report_.unreadable = true;
}

// A tool that it no longer offers isn't called: if the tool was safe, that is a difference.
void Verification::select(std::vector<CheckedCall> calls) {
  const SafeTools safe(generation_.config().replay_safe);
  std::set<std::string> known;
  for (CheckedCall& call : calls) {
    if (waiting_.size() == most_calls) return;
    if (!known.insert(call.key()).second) continue;
    const Item* const tool = now_.find(ListKind::tools, call.tool);
    const Item* const gone = tool == nullptr ? before_.find(ListKind::tools, call.tool) : nullptr;
    if (tool != nullptr && safe.has(*tool) && may_call_(call.tool))
      waiting_.push_back(std::move(call));
    else if (gone != nullptr && safe.has(*gone) && may_call_(call.tool))
      report_.differ.push_back({.call = std::move(call)});
    else
      ++report_.unsafe;
  }
}

void Verification::send() {
  while (on_done_ && !waiting_.empty() && asked_.size() < at_once) {
    CheckedCall call = std::move(waiting_.front());
    waiting_.pop_front();
    const std::string params = fmt::format(R"({{"name":{},"arguments":{}}})", quote(call.tool),
                                           call.arguments.empty() ? "{}" : call.arguments);
    // It may be answered at once, by a bridge.
    const auto answered = std::make_shared<bool>(false);
    const auto kept = std::make_shared<CheckedCall>(call);
    const std::int64_t id = generation_.inquire(
        "tools/call", params, [weak = weak_from_this(), kept, answered](const Message& answer) {
          *answered = true;
          const auto self = weak.lock();
          if (!self) return;
          std::erase_if(self->asked_, [&](const auto& one) { return one.second.key() == kept->key(); });
          self->on_answer(*kept, answer);
          self->send();
        });
    if (!*answered) asked_.emplace(id, std::move(call));
  }
  if (on_done_ && waiting_.empty() && asked_.empty()) finish();
}

void Verification::on_answer(const CheckedCall& call, const Message& answer) {
  Answer now{.is_error = answer.kind != Kind::result,
             .json = std::string(answer.text(answer.kind == Kind::result ? answer.result : answer.error))};
  const Answer* const accepted = accepted_.find(call.key(), call.when);
  AnswerDiff diff = compare_answers(accepted != nullptr ? *accepted : call.answer, now, ignored_);
  if (diff.same())
    ++report_.same;
  else
    report_.differ.push_back({.call = call, .now = std::move(now), .diff = std::move(diff)});
}

void Verification::finish() {
  const auto done = std::exchange(on_done_, nullptr);
  if (!done) return;
  const auto keep = shared_from_this();
  deadline_.cancel();
  waiting_.clear();
  for (const auto& [id, call] : std::exchange(asked_, {})) generation_.inquire_no_more(id);
  done(std::move(report_));
}

}  // namespace mcpivot
