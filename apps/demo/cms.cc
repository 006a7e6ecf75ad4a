// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/cms.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Cms;

constexpr char kSection[] = "blog";
constexpr int64_t kTags = 20;
constexpr int64_t kPage = 20;
constexpr size_t kPhotoBytes = 300'000;  // two chunks

std::string SlugOf(int64_t i) { return Numbered("entry", i); }
std::string TagOf(int64_t i) { return Numbered("tag", i % kTags); }

patterns::Node NodeOf(int64_t i) {
  const bson::Date now = patterns::Clock::System()->Now();
  return {.section = kSection,
          .slug = SlugOf(i),
          .type = "blog-entry",
          .title = "An entry",
          .author = {"a1", "Ann"},
          .tags = {TagOf(i), TagOf(i / 7 + 1)},
          .published = bson::Date{now.millis - i * 1000 - 1000},
          .detail = Doc("text", std::string(1000, 'x'), "publish_on", now)};
}

Status UploadPhoto(const Cms& cms, const std::string& slug) {
  bool given = false;
  patterns::Photo photo{.filename = "photo.jpg",
                        .content_type = "image/jpeg",
                        .width = 640,
                        .height = 480,
                        .uploaded_by = "a1"};
  photo.read = [&given]() -> Result<std::string> {
    const size_t bytes = given ? 0 : kPhotoBytes;
    given = true;
    return std::string(bytes, 'p');
  };
  patterns::Node node{.section = "photos", .slug = slug, .title = "A photo"};
  node.author = {"a1", "Ann"};
  return cms.UploadPhoto(node, photo).status();
}

Result<size_t> ReadPhoto(const Cms& cms, const std::string& slug) {
  ASSIGN_OR_RETURN(patterns::GridFsDownload download, cms.OpenPhoto("photos", slug));
  size_t bytes = 0;
  while (true) {
    ASSIGN_OR_RETURN(std::string part, download.Read());
    if (part.empty()) {
      return bytes;
    }
    bytes += part.size();
  }
}

// Two editors of the same version: the later one gets a conflict.
Status EditOne(const Cms& cms, const std::string& slug) {
  ASSIGN_OR_RETURN(patterns::Node node, cms.GetNode(kSection, slug));
  return cms.UpdateText(kSection, slug, node.nonce, std::string(1000, 'y')).status();
}

std::vector<Step> Steps(const DesignRun& run, const Cms& cms) {
  auto any = [&run](Worker& w) { return SlugOf(w.chance.Skewed(run.size())); };
  return {
      {"get", 50, [&cms, any](Worker& w) { return cms.GetNode(kSection, any(w)).status(); }},
      {"by tag", 20,
       [&](Worker& w) {
         return cms.ByTag(TagOf(w.chance.Below(kTags)), {.limit = kPage}).status();
       }},
      {"feed", 15, [&](Worker&) { return cms.Feed(kSection, {.limit = kPage}).status(); }},
      {"edit", 10, [&cms, any](Worker& w) { return EditOne(cms, any(w)); }},
      {"upload photo", 2,
       [&](Worker& w) {
         return UploadPhoto(cms, std::to_string(w.thread) + "-" + std::to_string(w.operation));
       }},
      {"read photo", 3, [&](Worker&) { return ReadPhoto(cms, "first").status(); }},
  };
}

Status RunCms(DesignRun* run) {
  Cms cms(run->client(), run->database());
  RETURN_IF_ERROR(cms.CreateIndexes());
  RETURN_IF_ERROR(run->Load("entries", run->size(),
                            [&](int64_t i) { return cms.CreateNode(NodeOf(i)).status(); }));
  RETURN_IF_ERROR(UploadPhoto(cms, "first"));
  RETURN_IF_ERROR(run->Work(Steps(*run, cms)));
  RETURN_IF_ERROR(run->Explain("get", "cms.nodes",
                               Doc("metadata.section", kSection, "metadata.slug", SlugOf(0))));
  RETURN_IF_ERROR(run->Explain("by tag", "cms.nodes", Doc("metadata.tags", TagOf(1)),
                               Doc("metadata.published", -1, "_id", 1), kPage));
  ASSIGN_OR_RETURN(size_t bytes, ReadPhoto(cms, "first"));
  run->Check("a photo reads back whole", bytes == kPhotoBytes, std::to_string(bytes));
  ASSIGN_OR_RETURN(std::vector<std::string> missing, cms.MissingIndexes());
  run->Check("every declared index exists", missing);
  return Status::Ok();
}

}  // namespace

Status DemoCms(DemoRun* run) { return run->Design("nodes and files", RunCms); }

}  // namespace quire::apps
