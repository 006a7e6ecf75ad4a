// SPDX-License-Identifier: Apache-2.0
//
// Hostile bytes as BSON: what Validate accepts can be walked, compared, hashed, copied and written
// as JSON; JSON made of it reads back as the same document.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bson/compare.h"
#include "bson/validate.h"
#include "quire/bson.h"

namespace {

using quire::bson::Document;
using quire::bson::View;

void Require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

size_t Walk(View document) {
  size_t fields = 0;
  for (const auto& field : document) {
    quire::bson::Value value = field.value();
    Require(field.value_size() == value.EncodedSize());
    fields += 1 + field.name().size();
    if (value.is_document() || value.is_array()) {
      fields += Walk(value.AsDocument());
    }
  }
  return fields;
}

void CheckDocument(View document) {
  Walk(document);
  Require(quire::bson::CompareDocuments(document, document) == 0);
  quire::bson::Hash(quire::bson::Value(document));
  quire::bson::Builder copy;
  copy.AppendFields(document);
  Require(copy.Finish().bytes() == document.bytes());
  quire::bson::ToJson(document);
  const std::string json = quire::bson::ToCanonicalJson(document);
  if (auto parsed = Document::FromJson(json); parsed.ok()) {
    Require(quire::bson::Validate(parsed->bytes()).ok());
    quire::bson::ToCanonicalJson(*parsed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (quire::bson::Validate(bytes).ok()) {
    CheckDocument(View(bytes.data()));
  }
  if (auto document = Document::FromJson(bytes); document.ok()) {
    Require(quire::bson::Validate(document->bytes()).ok());
    CheckDocument(*document);
  }
  return 0;
}
