// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "patterns/cms/work.h"
#include "quire/patterns/buckets.h"

namespace quire::patterns {

namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // Control characters are not allowed in XML 1.0.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

std::string Rfc3339(bson::Date time) {
  const CivilTime at = ToCivil(time);
  char text[64];
  snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", at.year, at.month, at.day, at.hour,
           at.minute, at.second);
  return text;
}

std::string Tag(std::string_view name, std::string_view text) {
  const std::string tag(name);
  return "<" + tag + ">" + Escaped(text) + "</" + tag + ">";
}

std::string LinkTo(std::string_view address) { return "<link href=\"" + Escaped(address) + "\"/>"; }

}  // namespace

std::string AtomFeed(const FeedInfo& info, const std::vector<Node>& nodes) {
  bson::Date updated;
  std::string entries;
  for (const Node& node : nodes) {
    const std::string address = info.link + "/" + node.section + "/" + node.slug;
    updated = std::max(updated, node.updated);
    entries += "<entry>" + Tag("title", node.title) + LinkTo(address) + Tag("id", address) +
               Tag("updated", Rfc3339(node.updated)) + "<author>" + Tag("name", node.author.name) +
               "</author></entry>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed "
         "xmlns=\"http://www.w3.org/2005/Atom\">" +
         Tag("title", info.title) + LinkTo(info.link) + Tag("id", info.link) +
         Tag("updated", Rfc3339(updated)) + "\n" + entries + "</feed>\n";
}

}  // namespace quire::patterns
