// SPDX-License-Identifier: Apache-2.0
#include "patterns/catalog/product.h"

#include <utility>

#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

// Code points whose lower case is a fixed distance away, or the next one.
struct CaseRange {
  uint32_t first;
  uint32_t last;
  uint32_t distance;  // 1: the even ones, 2: the odd ones are upper case
};
constexpr CaseRange kCases[] = {
    {0x00C0, 0x00D6, 32}, {0x00D8, 0x00DE, 32}, {0x0100, 0x0137, 1},  {0x0139, 0x0148, 2},
    {0x0179, 0x017E, 2},  {0x014A, 0x0177, 1},  {0x0391, 0x03A1, 32}, {0x03A3, 0x03AB, 32},
    {0x0400, 0x040F, 80}, {0x0410, 0x042F, 32},
};

// Lower case of a code point of two UTF-8 bytes.
uint32_t Lower(uint32_t point) {
  for (const CaseRange& range : kCases) {
    if (point >= range.first && point <= range.last) {
      switch (range.distance) {
        case 1:
          return point | 1;
        case 2:
          return point + (point & 1);
        default:
          return point + range.distance;
      }
    }
  }
  return point;
}

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
char UpperAscii(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

int32_t PercentOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<int32_t>(static_cast<__int128>(part) * 100 / whole);
}

bool IsTextArray(const bson::Value& value) {
  if (!value.is_array()) {
    return false;
  }
  for (const bson::Element& element : value.AsArray()) {
    if (element.type() != bson::Type::kString) {
      return false;
    }
  }
  return true;
}

// The details with their genres in the one spelling.
Document NormalDetails(const Document& details) {
  bson::Builder out;
  for (const bson::Element& field : details.view()) {
    if (field.name() != "genre") {
      out.Append(field);
      continue;
    }
    out.BeginArray("genre");
    for (const bson::Element& genre : field.value().AsArray()) {
      out.Push(NormalGenre(genre.value().AsString()));
    }
    out.End();
  }
  return out.Finish();
}

std::string PrimaryGenre(const Document& details) {
  bson::Value genres = details["genre"];
  if (!genres.is_array() || genres.AsArray().empty()) {
    return "";
  }
  return std::string(genres.AsArray().front().value().AsString());
}

}  // namespace

std::string FoldCase(std::string_view text) {
  std::string folded;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0xC0 || lead >= 0xE0 || i + 1 == text.size()) {
      folded += LowerAscii(text[i]);
      continue;
    }
    const auto next = static_cast<unsigned char>(text[++i]);
    const uint32_t point = Lower((lead & 0x1Fu) << 6 | (next & 0x3Fu));
    folded += static_cast<char>(0xC0 | point >> 6);
    folded += static_cast<char>(0x80 | (point & 0x3F));
  }
  return folded;
}

std::string NormalGenre(std::string_view genre) {
  std::string normal;
  bool start = true;
  for (char c : genre) {
    if (c == ' ') {
      start = true;
      continue;
    }
    if (start && !normal.empty()) {
      normal += ' ';
    }
    normal += start ? UpperAscii(c) : LowerAscii(c);
    start = false;
  }
  return normal;
}

std::string EscapeRegex(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (std::string_view(R"(\^$.|?*+()[]{}-/#)").find(c) != std::string_view::npos) {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

Status CheckProduct(const Product& product) {
  if (product.sku.empty() || product.type.empty()) {
    return MakeError(Error::kInvalidName, "a product has a sku and a type");
  }
  if (product.retail < 0 || product.retail > product.list) {
    return MakeError(Error::kInvalidPrice, product.sku);
  }
  bson::Value genre = product.details["genre"];
  if (!genre.missing() && !IsTextArray(genre)) {
    return MakeError(Error::kWrongType, "details.genre is an array of strings");
  }
  return Status::Ok();
}

Document ProductFields(const Product& product) {
  const Document details = NormalDetails(product.details);
  const int64_t savings = product.list - product.retail;
  return Doc("sku", product.sku, "type", product.type, "title", product.title, "title_lc",
             FoldCase(product.title), "description", product.description, "asin", product.asin,
             "shipping", product.shipping, "pricing",
             Doc("list", product.list, "retail", product.retail, "savings", savings, "pct_savings",
                 PercentOf(savings, product.list)),
             "details", details, "primary_genre", PrimaryGenre(details), "category_ids",
             ListOf(product.category_ids));
}

Product ProductOf(const Document& document) {
  Product product;
  product.sku = TextAt(document, "sku");
  product.type = TextAt(document, "type");
  product.title = TextAt(document, "title");
  product.description = TextAt(document, "description");
  product.asin = TextAt(document, "asin");
  product.primary_genre = TextAt(document, "primary_genre");
  product.list = IntegerAt(document, "pricing.list");
  product.retail = IntegerAt(document, "pricing.retail");
  product.savings = IntegerAt(document, "pricing.savings");
  product.pct_savings = static_cast<int32_t>(IntegerAt(document, "pricing.pct_savings"));
  product.rev = IntegerAt(document, "rev");
  if (bson::Value id = document["_id"]; id.type() == bson::Type::kObjectId) {
    product.id = id.AsObjectId();
  }
  if (bson::Value shipping = document["shipping"]; shipping.is_document()) {
    product.shipping = Document(shipping.AsDocument());
  }
  if (bson::Value details = document["details"]; details.is_document()) {
    product.details = Document(details.AsDocument());
  }
  if (bson::Value categories = document["category_ids"]; categories.is_array()) {
    for (const bson::Element& id : categories.AsArray()) {
      if (id.type() == bson::Type::kObjectId) {
        product.category_ids.push_back(id.value().AsObjectId());
      }
    }
  }
  return product;
}

}  // namespace quire::patterns
