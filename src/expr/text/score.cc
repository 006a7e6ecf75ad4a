// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bson/number.h"
#include "expr/text/fields_internal.h"
#include "expr/text/tokenizer.h"

namespace quire::expr::text {
namespace {

struct TermCount {
  double frequency = 0;  // each repetition counts half of the one before
  double step = 1;
  int count = 0;
};

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return tolower(static_cast<unsigned char>(x)) == tolower(static_cast<unsigned char>(y));
  });
}

void ScoreText(std::string_view raw, double weight, const Language& language,
               std::map<std::string, double>* scores) {
  std::vector<std::string> tokens = Tokenize(raw, language);
  std::map<std::string_view, TermCount> counts;
  for (const std::string& token : tokens) {
    TermCount& term = counts[token];
    term.frequency += term.step;
    term.step /= 2;
    ++term.count;
  }
  for (const auto& [term, count] : counts) {
    double share = 0.5 * count.count / static_cast<double>(tokens.size()) + 0.5;
    double boost = EqualIgnoringCase(raw, term) ? 1.1 : 1;  // the text is that one word
    (*scores)[std::string(term)] += weight * count.frequency * share * boost;
  }
}

}  // namespace

IndexSpec IndexSpec::FromIndex(bson::View index) {
  IndexSpec spec;
  auto add = [&](std::string_view path, double weight) {
    if (path == "$**") {
      spec.wildcard_weight = weight;
    } else {
      spec.weights[std::string(path)] = weight;
    }
  };
  if (bson::Value key = index["key"]; key.is_document()) {
    for (const bson::Element& part : key.AsDocument()) {
      bool text = part.type() == bson::Type::kString && part.value().AsString() == "text";
      if (text && part.name() != "_fts") {
        add(part.name(), 1);
      }
    }
  }
  if (bson::Value weights = index["weights"]; weights.is_document()) {
    for (const bson::Element& weight : weights.AsDocument()) {
      if (weight.value().is_number()) {
        add(weight.name(), bson::ToDouble(weight.value()));
      }
    }
  }
  if (bson::Value language = index["default_language"]; language.is_string()) {
    spec.default_language = language.AsString();
  }
  if (bson::Value field = index["language_override"]; field.is_string()) {
    spec.language_override = field.AsString();
  }
  return spec;
}

Result<const Language*> LanguageOf(const IndexSpec& spec, bson::View document,
                                   const Language* inherited) {
  bson::Element field = document.Find(spec.language_override);
  if (!field.present()) {
    return inherited;
  }
  if (field.type() != bson::Type::kString) {
    return Status(17261, "found language override field in document with non-string type");
  }
  auto language = FindLanguage(field.value().AsString());
  if (!language.ok()) {
    return Status(17262, "language override unsupported: " + std::string(field.value().AsString()));
  }
  return language;
}

Result<std::map<std::string, double>> ScoreDocument(const IndexSpec& spec, bson::View document) {
  std::map<std::string, double> scores;
  RETURN_IF_ERROR(WalkTextDocument(
      spec, document, [&](std::string_view text, double weight, const Language& language) {
        ScoreText(text, weight, language, &scores);
      }));
  return scores;
}

}  // namespace quire::expr::text
