#include "cli/text_table.h"

#include <algorithm>
#include <string_view>

#include "cli/colours.h"

namespace mcpivot {
namespace {

constexpr std::size_t margin = 2;  // before a line, and between columns

class Table {
 public:
  Table(std::vector<TextColumn> columns, std::vector<TextRow> rows)
      : columns_(std::move(columns)), rows_(std::move(rows)) {
    for (std::size_t i = columns_.size(); i-- > 0;)
      if (std::ranges::all_of(rows_, [&](const TextRow& row) { return row[i].empty(); })) drop(i);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      std::size_t widest = columns_of(columns_[i].title);
      for (const TextRow& row : rows_) widest = std::max(widest, columns_of(row[i]));
      widths_.push_back(widest);
    }
  }

  void fit(std::size_t width) {
    while (total() > width && (cut(total() - width) || leave())) {
    }
  }

  std::string text() const {
    TextRow titles;
    for (const TextColumn& column : columns_) titles.push_back(column.title);
    std::string lines = line(titles);
    for (const TextRow& row : rows_) lines += line(row);
    return lines;
  }

 private:
  std::size_t total() const {
    std::size_t sum = 0;
    for (const std::size_t width : widths_) sum += margin + width;
    return sum;
  }

  // Narrows the widest column that can be cut. False: there is none.
  bool cut(std::size_t surplus) {
    std::optional<std::size_t> widest;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t least = std::max(columns_[i].least, columns_of(columns_[i].title));
      if (columns_[i].least == 0 || widths_[i] <= least) continue;
      if (!widest || widths_[i] > widths_[*widest]) widest = i;
    }
    if (!widest) return false;
    const std::size_t least = std::max(columns_[*widest].least, columns_of(columns_[*widest].title));
    widths_[*widest] -= std::min(surplus, widths_[*widest] - least);
    return true;
  }

  // Drops a column. With room again, cut columns get their width back.
  bool leave() {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].leaves > 0 && (!first || columns_[i].leaves < columns_[*first].leaves)) first = i;
    if (!first) return false;
    drop(*first);
    *this = Table(std::move(columns_), std::move(rows_));
    return true;
  }

  void drop(std::size_t column) {
    const auto at = static_cast<std::ptrdiff_t>(column);
    columns_.erase(columns_.begin() + at);
    for (TextRow& row : rows_) row.erase(row.begin() + at);
  }

  std::string line(const TextRow& row) const {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      // Blanks at its end keep a column wide, and need no mark when they are cut.
      const std::string_view whole = std::string_view(row[i]).substr(0, row[i].find_last_not_of(' ') + 1);
      const std::string cell = shortened(whole, widths_[i]);
      const std::string blanks(widths_[i] - std::min(widths_[i], columns_of(cell)), ' ');
      text += std::string(margin, ' ') + (columns_[i].left ? cell + blanks : blanks + cell);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  std::vector<TextColumn> columns_;
  std::vector<TextRow> rows_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::string text_table(std::vector<TextColumn> columns, std::vector<TextRow> rows,
                       std::optional<std::size_t> width) {
  Table table(std::move(columns), std::move(rows));
  if (width) table.fit(*width);
  return table.text();
}

}  // namespace mcpivot
