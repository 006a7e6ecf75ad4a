// SPDX-License-Identifier: Apache-2.0
#include "bson/walk/field_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bson/walk/field_index.h"
#include "bson/walk/form_walk.h"

namespace quire::bson {
namespace {

// The document in a piece of memory of exactly its size: a sanitizer sees a byte read past it.
class Alone {
 public:
  explicit Alone(const Document& document)
      : bytes_(std::make_unique<char[]>(document.bytes().size())) {
    memcpy(bytes_.get(), document.bytes().data(), document.bytes().size());
  }
  View view() const { return View(bytes_.get()); }

 private:
  std::unique_ptr<char[]> bytes_;
};

Document OfEveryType() {
  const Document inner = Builder().Append("x", 1).Finish();
  return Builder()
      .Append("double", 1.5)
      .Append("string", "text")
      .Append("document", Value(inner.view()))
      .Append("array", Value::Array(inner.view()))
      .Append("binary", Value::Binary("bytes", 2))
      .Append("undefined", Value::Undefined())
      .Append("id", ObjectId())
      .Append("bool", true)
      .Append("date", Date{7})
      .Append("null", Value::Null())
      .Append("code", Value::Code("f()"))
      .Append("symbol", Value::Symbol("s"))
      .Append("int", 3)
      .Append("timestamp", Timestamp{1, 2})
      .Append("long", int64_t{4})
      .Append("decimal", Decimal128{1, 2})
      .Append("max", Value::MaxKey())
      .Append("min", Value::MinKey())
      .Finish();
}

// Documents one after the other, some of one form, some not: each is seen as it is.
TEST(FormWalk, SeesWhatTheIteratorSees) {
  std::mt19937 random(7);
  const Document every = OfEveryType();
  const Document regex =
      *Document::FromJson(R"({"a": {"$regularExpression": {"pattern": "a.b", "options": "i"}},
                              "b": {"$code": "f", "$scope": {"y": 1}},
                              "c": {"$dbPointer": {"$ref": "c", "$id": {"$oid":
                                    "0123456789abcdef01234567"}}}, "d": 2})");
  std::vector<Value> values;
  for (const Document* document : {&every, &regex}) {
    for (const Element& element : document->view()) {
      values.push_back(element.value());
    }
  }
  const std::string names[] = {
      "a",   "b", "", "fifteen bytes..", "fourteen bytes", "thirteen byte", std::string(40, 'x'),
      "a.b", "é"};
  Form form;
  for (int round = 0; round < 3000; ++round) {
    Builder builder;
    for (size_t fields = random() % (round % 50 == 0 ? 50 : 6); fields > 0; --fields) {
      builder.Append(names[random() % std::size(names)], values[random() % values.size()]);
    }
    const Document made = builder.Finish();
    const Alone alone(made);
    for (int again = 0; again < 2; ++again) {
      FormWalk field(alone.view(), &form);
      for (const Element& element : alone.view()) {
        ASSERT_TRUE(field.valid());
        ASSERT_EQ(field.name(), element.name());
        ASSERT_EQ(field.type(), element.type());
        ASSERT_EQ(field.bit(), FieldName(element.name()).bit());
        ASSERT_EQ(field.value_data(), element.value_data());
        field.Next();
      }
      ASSERT_FALSE(field.valid());
    }
  }
}

TEST(FieldWalk, SeesWhatTheIteratorSees) {
  Document regex = *Document::FromJson(
      R"({"r": {"$regularExpression": {"pattern": "a.b", "options": "i"}}, "after": 1,
          "scope": {"$code": "f", "$scope": {"y": 1}},
          "p": {"$dbPointer": {"$ref": "c", "$id": {"$oid": "0123456789abcdef01234567"}}}, "z": 2})");
  for (const Document& document : {OfEveryType(), regex, Document()}) {
    const Alone alone(document);
    FieldWalk field(alone.view());
    for (const Element& element : alone.view()) {
      ASSERT_TRUE(field.valid());
      EXPECT_EQ(field.name(), element.name());
      EXPECT_EQ(field.type(), element.type());
      EXPECT_TRUE(field.value().BinaryEquals(element.value())) << element.name();
      EXPECT_EQ(field.element().raw(), element.raw());
      field.Next();
    }
    EXPECT_FALSE(field.valid());
  }
}

// Names of every length around the sixteen bytes that are compared at once, that are each other's
// beginnings or differ in one byte, at every distance from the document's end.
TEST(FieldWalk, FindsExactlyTheName) {
  std::mt19937 random(5);
  std::vector<std::string> names;
  for (size_t size = 0; size <= 40; ++size) {
    names.push_back(std::string(size, 'a'));
    if (size > 0) {
      names.push_back(std::string(size - 1, 'a') + 'b');
      names.push_back('b' + std::string(size - 1, 'a'));
    }
  }
  for (int round = 0; round < 300; ++round) {
    Builder builder;
    const size_t fields = random() % (round % 10 == 0 ? 60 : 8);
    for (size_t i = 0; i < fields; ++i) {
      const std::string& name = names[random() % names.size()];
      random() % 2 == 0 ? builder.Append(name, true) : builder.Append(name, "text");
    }
    const Alone alone(builder.Finish());
    FieldIndex index;
    index.Start(alone.view());
    std::shuffle(names.begin(), names.end(), random);
    for (const std::string& name : names) {
      const char* first = nullptr;
      for (const Element& element : alone.view()) {
        if (first == nullptr && element.name() == name) {
          first = element.value_data();
        }
      }
      const Element found = alone.view().Find(name);
      ASSERT_EQ(found.present(), first != nullptr) << name;
      const Value value = FindValue(alone.view(), FieldName(name));
      ASSERT_EQ(value.missing(), first == nullptr) << name;
      const Value again = index.Find(FieldIndex::Name(name));
      ASSERT_TRUE(value.BinaryEquals(again)) << name;
      ASSERT_TRUE(value.BinaryEquals(index.Find(name))) << name;
      if (first != nullptr) {
        ASSERT_EQ(found.value_data(), first) << name;
        ASSERT_TRUE(value.BinaryEquals(found.value())) << name;
      }
    }
  }
}

}  // namespace
}  // namespace quire::bson
