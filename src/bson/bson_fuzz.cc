// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a document, given as BSON or as extended JSON: what is accepted can be walked,
// copied, compared, hashed, written as JSON and as ordered keys, and all of these agree with each
// other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bson/compare.h"
#include "bson/key_tuples.h"
#include "bson/ordered.h"
#include "bson/path.h"
#include "bson/validate.h"
#include "quire/bson.h"

namespace {

using namespace quire::bson;  // NOLINT(google-build-using-namespace)

void Check(bool holds) {
  if (!holds) {
    abort();
  }
}

std::string Encoded(const Value& value, Direction direction, std::string* type_bits) {
  std::string out;
  AppendOrdered(value, direction, nullptr, &out, type_bits);
  return out;
}

void CheckReadsBack(const Element& element, Direction direction) {
  std::string type_bits;
  std::string bytes = Encoded(element.value(), direction, &type_bits);
  TrimTypeBits(&type_bits);
  OrderedReader reader(bytes, type_bits);
  Builder out;
  Check(reader.Read(direction, "v", &out));
  Check(reader.rest().empty());
  Document read = out.Finish();
  Check(quire::bson::Compare(read["v"], element.value()) == 0);
  Check(ToJson(read["v"]) == ToJson(element.value()));
}

void CheckPair(const Value& a, const Value& b) {
  int order = quire::bson::Compare(a, b);
  Check(quire::bson::Compare(b, a) == -order);
  int bytes = Encoded(a, Direction::kAscending, nullptr)
                  .compare(Encoded(b, Direction::kAscending, nullptr));
  Check((bytes > 0) - (bytes < 0) == order);
  Check(order != 0 || Hash(a) == Hash(b));
}

// Wrapper objects such as {"$date": ...} may be read as what they stand for; from then on the text
// is stable.
void CheckJson(View document) {
  auto once = Document::FromJson(ToCanonicalJson(document));
  if (!once.ok()) {
    return;
  }
  Check(Validate(once->bytes()).ok());
  std::string text = ToCanonicalJson(once->view());
  auto twice = Document::FromJson(text);
  Check(twice.ok() && twice->bytes() == once->bytes());
}

void CheckCopies(View document) {
  Builder copy;
  for (const Element& element : document) {
    Check(element.value_size() == element.value().EncodedSize());
    copy.Append(element.name(), element.value());
  }
  Check(copy.Finish().bytes() == document.bytes());
}

void CheckValues(View document) {
  Value previous;
  for (const Element& element : document) {
    Value value = element.value();
    Check(quire::bson::Compare(value, value) == 0);
    CheckPair(previous, value);
    CheckReadsBack(element, Direction::kAscending);
    CheckReadsBack(element, Direction::kDescending);
    previous = value;
  }
}

void CheckDocument(View document) {
  CheckCopies(document);
  CheckValues(document);
  CheckJson(document);
  std::vector<FieldPath> paths = {FieldPath("a"), FieldPath("a.b"), FieldPath("b.0.a.0")};
  uint64_t array_parts = 0;
  quire::Status status =
      ForEachKeyTuple(paths, document, &array_parts, [](std::span<const Value>, bool) {});
  (void)status;
}

// What JSON gives, canonical JSON gives back exactly.
void CheckParsed(const Document& document) {
  Check(Validate(document.bytes()).ok());
  auto again = Document::FromJson(ToCanonicalJson(document.view()));
  Check(again.ok() && again->bytes() == document.bytes());
  Check(Document::FromJson(ToJson(document.view())).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (Validate(bytes).ok()) {
    CheckDocument(View(bytes.data()));
  }
  if (auto document = Document::FromJson(bytes); document.ok()) {
    CheckParsed(*document);
    CheckDocument(*document);
  }
  return 0;
}
