// SPDX-License-Identifier: Apache-2.0
#include "tool/picture.h"

#include <gtest/gtest.h>

namespace quire::apps {
namespace {

TEST(Picture, ShowsWhatWasDrawn) {
  Picture picture;
  picture.Text(1, 2, Anchor::kEnd, "a<b & \"c\"");
  picture.Bar(0, 0, 0.2, 10, "#111");
  picture.Line(0, 1, 2, 3, "#222", true);
  const std::string file = picture.Finish(100, 50, 11);
  EXPECT_EQ(file.find("<svg xmlns="), 0U);
  for (const char* part : {
           "<text x=\"1.0\" y=\"2.0\" text-anchor=\"end\">a&lt;b &amp; &quot;c&quot;</text>",
           "width=\"1.0\" height=\"10.0\" fill=\"#111\"/>",
           "y2=\"3.0\" stroke=\"#222\" stroke-dasharray=\"5,3\"/>",
           "viewBox=\"0 0 100.0 50.0\"",
       }) {
    EXPECT_NE(file.find(part), std::string::npos) << part;
  }
}

TEST(Picture, AxesHaveWholeDecades) {
  const DecadeAxis axis = DecadeAxis::Around(0.3, 40, 100, 400);
  EXPECT_EQ(axis.low, -1);
  EXPECT_EQ(axis.high, 2);
  EXPECT_DOUBLE_EQ(axis.At(0.1), 100);
  EXPECT_DOUBLE_EQ(axis.At(1), 200);
  EXPECT_DOUBLE_EQ(axis.At(100), 400);
  EXPECT_DOUBLE_EQ(axis.At(0), 100) << "what has no logarithm lies at the end";
  const DecadeAxis flat = DecadeAxis::Around(1, 1, 0, 10);
  EXPECT_EQ(flat.high, 1) << "at least one";
}

}  // namespace
}  // namespace quire::apps
