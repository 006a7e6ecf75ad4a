// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "demo/report.h"
#include "tool/text.h"

namespace quire::apps {
namespace {

// Rows of cells; the first `texts` columns are aligned left, the others right.
class Table {
 public:
  Table(size_t texts, std::vector<std::string> header) : texts_(texts) { Add(std::move(header)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }

  std::string Text() const {
    std::vector<size_t> widths(rows_[0].size());
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], row[i].size());
      }
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string space(widths[i] - row[i].size(), ' ');
        line += i < texts_ ? row[i] + space : space + row[i];
        line += "  ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += "  " + line + "\n";
    }
    return text;
  }

 private:
  size_t texts_;
  std::vector<std::vector<std::string>> rows_;
};

std::string Rate(int64_t count, double seconds) {
  return Grouped(seconds > 0 ? static_cast<int64_t>(static_cast<double>(count) / seconds) : 0);
}

std::string Megabytes(int64_t bytes) { return Fixed(static_cast<double>(bytes) / 1e6, 2); }

int64_t Operations(const DesignReport& design) {
  int64_t sum = 0;
  for (const StepReport& step : design.steps) {
    sum += step.operations;
  }
  return sum;
}

// Calls `add` for each named part of the designs, those of the same name together.
template <typename Part, typename Add>
void ByName(const DemoReport& report, std::vector<Part> DesignReport::*parts, const Add& add) {
  std::vector<std::string> names;
  for (const DesignReport& design : report.designs) {
    for (const Part& part : design.*parts) {
      if (std::find(names.begin(), names.end(), part.name) == names.end()) {
        names.push_back(part.name);
      }
    }
  }
  for (const std::string& name : names) {
    for (const DesignReport& design : report.designs) {
      for (const Part& part : design.*parts) {
        if (part.name == name) {
          add(design, part);
        }
      }
    }
  }
}

std::string DesignsText(const DemoReport& report) {
  Table table(1, {"design", "loaded", "loaded/s", "work ops/s", "data MB", "index MB"});
  for (const DesignReport& design : report.designs) {
    int64_t loaded = 0;
    double seconds = 0;
    for (const LoadReport& load : design.loads) {
      loaded += load.count;
      seconds += load.seconds;
    }
    table.Add({design.name, Grouped(loaded), Rate(loaded, seconds),
               Rate(Operations(design), design.seconds), Megabytes(design.data_bytes),
               Megabytes(design.index_bytes)});
  }
  return table.Text();
}

std::string StepsText(const DemoReport& report) {
  Table table(2, {"operation", "design", "ops", "refused", "errors", "p50 ms", "p99 ms"});
  ByName(report, &DesignReport::steps, [&](const DesignReport& design, const StepReport& step) {
    table.Add({step.name, design.name, Grouped(step.operations), Grouped(step.refused),
               Grouped(step.errors), Fixed(step.p50_ms, 3), Fixed(step.p99_ms, 3)});
  });
  return table.empty() ? "" : "\n" + table.Text();
}

std::string ExaminedText(const DemoReport& report) {
  Table table(2, {"per operation, profiled", "design", "commands", "keys", "documents"});
  ByName(report, &DesignReport::steps, [&](const DesignReport& design, const StepReport& step) {
    if (step.commands >= 0) {
      table.Add({step.name, design.name, Fixed(step.commands, 1), Fixed(step.keys, 1),
                 Fixed(step.documents, 1)});
    }
  });
  return table.empty() ? "" : "\n" + table.Text();
}

std::string QueriesText(const DemoReport& report) {
  Table table(2, {"query, by explain", "design", "returned", "keys", "documents", "scan"});
  ByName(report, &DesignReport::queries, [&](const DesignReport& design, const QueryReport& query) {
    table.Add({query.name, design.name, Grouped(query.returned), Grouped(query.keys),
               Grouped(query.documents), query.collection_scan ? "COLLECTION" : "index"});
  });
  return table.empty() ? "" : "\n" + table.Text();
}

std::string ChecksText(const DemoReport& report) {
  std::string text;
  for (const DesignReport& design : report.designs) {
    for (const CheckReport& check : design.checks) {
      text += std::string(check.holds ? "  ok    " : "  WRONG ") + design.name + ": " + check.what +
              (check.holds ? "" : " (" + check.detail + ")") + "\n";
    }
    if (!design.first_error.empty()) {
      text += "  ERROR " + design.name + ": " + design.first_error + "\n";
    }
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

bool DemoReport::sound() const {
  return std::all_of(designs.begin(), designs.end(), [](const DesignReport& design) {
    return design.first_error.empty() &&
           std::all_of(design.checks.begin(), design.checks.end(),
                       [](const CheckReport& check) { return check.holds; });
  });
}

std::string ReportText(const DemoReport& report) {
  return report.name + ": " + report.purpose + "\n" + report.place + ", " + Grouped(report.size) +
         " " + report.size_of + ", " + std::to_string(report.threads) + " threads\n\n" +
         DesignsText(report) + StepsText(report) + ExaminedText(report) + QueriesText(report) +
         ChecksText(report);
}

}  // namespace quire::apps
