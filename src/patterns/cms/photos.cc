// SPDX-License-Identifier: Apache-2.0
//
// Photos: nodes that point at files, and the files that nothing points at.
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/cms/documents.h"
#include "patterns/cms/work.h"
#include "patterns/keyset.h"
#include "patterns/walk.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr int64_t kBatch = 1000;

Document PhotoDetail(const Photo& photo, const GridFsFile& file) {
  return Doc("file_id", file.id, "filename", photo.filename, "resolution",
             List(photo.width, photo.height), "content_type", photo.content_type, "length",
             file.length);
}

Document PhotoArguments(const Photo& photo) {
  return Doc("filename", photo.filename, "type", photo.content_type, "width", photo.width, "height",
             photo.height, "by", photo.uploaded_by);
}

// The files whose chunks add up to their length; adds a line for each other. Files are read before
// chunks: what comes meanwhile comes the other way.
Result<std::set<std::string>> WholeFiles(const Store& store, std::vector<std::string>* wrong) {
  struct Size {
    int64_t length = 0;
    int64_t chunk_size = 0;
  };
  std::map<std::string, Size> files;
  RETURN_IF_ERROR(Walk(store, kCmsFiles, [&](const Document& file) {
    // An upload that came too late is about to take a staged one away.
    if (TextAt(file, "metadata.state") != "staged") {
      files[bson::ToJson(file["_id"])] = {IntegerAt(file, "length"), IntegerAt(file, "chunkSize")};
    }
    return Status::Ok();
  }));
  const Document sums = Doc("_id", "$files_id", "chunks", Doc("$sum", 1), "bytes",
                            Doc("$sum", Doc("$binarySize", "$data")));
  ASSIGN_OR_RETURN(auto stored, store.Aggregate(kCmsChunks, {Doc("$group", sums)}));
  std::map<std::string, std::pair<int64_t, int64_t>> chunks;  // how many, of how many bytes
  for (const Document& one : stored) {
    chunks[bson::ToJson(one["_id"])] = {IntegerAt(one, "chunks"), IntegerAt(one, "bytes")};
  }
  std::set<std::string> whole;
  for (const auto& [id, size] : files) {
    const auto [count, bytes] = chunks[id];
    if (size.chunk_size <= 0 || bytes != size.length ||
        count != (size.length + size.chunk_size - 1) / size.chunk_size) {
      wrong->push_back("the chunks of file " + id);
    } else {
      whole.insert(id);
    }
  }
  return whole;
}

bool HasTwice(const bson::Value& tags) {
  std::set<std::string_view> seen;
  for (const bson::Element& tag : tags.is_array() ? tags.AsArray() : bson::View()) {
    if (!seen.insert(tag.value().AsString()).second) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<GridFsFile> Cms::Work::Stage(std::string_view operation, std::string_view section,
                                    std::string_view slug, const Photo& photo) const {
  const Document metadata = Doc("node_key", Doc("section", section, "slug", slug), "state",
                                "staged", "at", store_.Now(), "uploaded_by", photo.uploaded_by);
  ASSIGN_OR_RETURN(GridFsUpload upload, assets_.OpenUpload(photo.filename, {.metadata = metadata}));
  for (bool more = true; more;) {
    Result<std::string> bytes = photo.read();
    if (!bytes.ok()) {
      RETURN_IF_ERROR(upload.Abort());
      return bytes.status();
    }
    more = !bytes->empty();
    RETURN_IF_ERROR(upload.Write(*bytes));
  }
  ASSIGN_OR_RETURN(GridFsFile file, upload.Finish());
  RETURN_IF_ERROR(store_.seams().After(operation, 1));
  RETURN_IF_ERROR(SetState(file.id.value(), "staged", "live"));
  RETURN_IF_ERROR(store_.seams().After(operation, 2));
  return file;
}

Status Cms::Work::SetState(const bson::Value& file, std::string_view from,
                           std::string_view to) const {
  return store_
      .UpdateOne(kCmsFiles, Doc("_id", file, "metadata.state", from),
                 Doc("$set", Doc("metadata.state", to, "metadata.at", store_.Now())))
      .status();
}

Result<bson::ObjectId> Cms::Work::UploadPhoto(const Node& node, const Photo& photo,
                                              const CallKey& key) const {
  const Document arguments = Doc("node", NodeArguments(node), "photo", PhotoArguments(photo));
  ASSIGN_OR_RETURN(Document shown,
                   calls_.Once("cms.upload_photo", key, arguments,
                               [&](const Claim& claim) { return UploadOnce(node, photo, claim); }));
  return shown["nonce"].AsObjectId();
}

// Every try uploads a file of its own; the node, whose _id is the claim's, shows one of them.
Result<Document> Cms::Work::UploadOnce(const Node& node, const Photo& photo,
                                       const Claim& claim) const {
  if (claim.repeated) {
    ASSIGN_OR_RETURN(auto made, store_.FindOne(kCmsNodes, NodeAt(node.section, node.slug)));
    if (IsOf(made, claim)) {
      return Doc("nonce", claim.id);
    }
  }
  RETURN_IF_ERROR(CheckPlace(node));
  ASSIGN_OR_RETURN(GridFsFile file, Stage("cms.upload_photo", node.section, node.slug, photo));
  Node shown = node;
  shown.type = kPhotoType;
  shown.detail = PhotoDetail(photo, file);
  auto nonce = Insert(shown, claim);
  if (!nonce.ok() && !IsFinal(nonce.status())) {
    return nonce.status();
  }
  ASSIGN_OR_RETURN(auto there, store_.FindOne(kCmsNodes, NodeAt(node.section, node.slug)));
  if (!there || !At(*there, "metadata.detail.file_id").BinaryEquals(file.id.value())) {
    RETURN_IF_ERROR(SetState(file.id.value(), "live", "dead"));
    RETURN_IF_ERROR(store_.seams().After("cms.upload_photo", 4));
  }
  RETURN_IF_ERROR(nonce.status());
  return Doc("nonce", claim.id);
}

Result<bson::ObjectId> Cms::Work::ReplacePhoto(std::string_view section, std::string_view slug,
                                               const bson::ObjectId& nonce, const Photo& photo,
                                               const CallKey& key) const {
  const Document arguments =
      Doc("section", section, "slug", slug, "nonce", nonce, "photo", PhotoArguments(photo));
  ASSIGN_OR_RETURN(Document shown,
                   calls_.Once("cms.replace_photo", key, arguments, [&](const Claim& claim) {
                     return ReplaceOnce(section, slug, nonce, photo, claim);
                   }));
  return shown["nonce"].AsObjectId();
}

Result<Document> Cms::Work::ReplaceOnce(std::string_view section, std::string_view slug,
                                        const bson::ObjectId& nonce, const Photo& photo,
                                        const Claim& claim) const {
  ASSIGN_OR_RETURN(auto before, store_.FindOne(kCmsNodes, NodeAt(section, slug)));
  if (before && Marked(*before, claim)) {
    return Doc("nonce", claim.id);
  }
  if (!before || !(At(*before, "metadata.nonce").AsObjectId() == nonce)) {
    return EditRefusal(before, slug);
  }
  if (TextAt(*before, "metadata.type") != kPhotoType) {
    return MakeError(Error::kWrongType, slug);
  }
  ASSIGN_OR_RETURN(GridFsFile file, Stage("cms.replace_photo", section, slug, photo));
  const Document set = Doc("metadata.detail", PhotoDetail(photo, file), "metadata.nonce", claim.id,
                           "metadata.updated", store_.Now());
  ASSIGN_OR_RETURN(int64_t swapped,
                   store_.UpdateOne(kCmsNodes, Unmarked(NodeVersion(section, slug, nonce), claim),
                                    Marking(Doc("$set", set), claim)));
  RETURN_IF_ERROR(store_.seams().After("cms.replace_photo.c3"));
  const bson::OwnedValue unused(swapped == 1 ? At(*before, "metadata.detail.file_id")
                                             : file.id.value());
  RETURN_IF_ERROR(SetState(unused.value(), "live", "dead"));
  RETURN_IF_ERROR(store_.seams().After("cms.replace_photo.c4"));
  if (swapped == 0) {
    ASSIGN_OR_RETURN(auto now, store_.FindOne(kCmsNodes, NodeAt(section, slug)));
    if (!now || !Marked(*now, claim)) {
      return EditRefusal(now, slug);
    }
  }
  return Doc("nonce", claim.id);
}

Result<GridFsDownload> Cms::Work::OpenPhoto(std::string_view section, std::string_view slug,
                                            const ByteRange& range) const {
  ASSIGN_OR_RETURN(Node node, GetNode(section, slug));
  if (node.type != kPhotoType) {
    return MakeError(Error::kWrongType, slug);
  }
  return assets_.OpenDownload(node.detail["file_id"], range);
}

Result<bool> Cms::Work::Shown(const bson::Value& file) const {
  ASSIGN_OR_RETURN(auto node, store_.FindOne(kCmsNodes, Doc("metadata.detail.file_id", file),
                                             {.projection = Doc("_id", 1)}));
  return node.has_value();
}

// A file is dead for the whole retention before it goes: a node that a late upload makes it part
// of brings it back.
Result<JobReport> Cms::Work::GcFiles() const {
  return RunLeased(Lease(store_, "cms.gc_files", options_.worker, options_.lease),
                   [&] { return CollectFiles(); });
}

Result<JobReport> Cms::Work::CollectFiles() const {
  JobReport report;
  const bson::Date before = store_.Ago(options_.tombstone_retention);
  for (const char* state : {"staged", "live", "dead"}) {
    PageRequest page{.limit = kBatch};
    do {
      ASSIGN_OR_RETURN(Page files,
                       FindPage(store_, kCmsFiles,
                                Doc("metadata.state", state, "metadata.at", Doc("$lt", before)),
                                Doc("metadata.at", 1, "_id", 1), page));
      for (const Document& file : files.documents) {
        report.examined += 1;
        ASSIGN_OR_RETURN(bool shown, Shown(file["_id"]));
        const std::string_view is = state;
        if (shown && is == "live") {
          report.skipped += 1;
          continue;
        }
        if (!shown && is == "dead") {
          Status deleted = assets_.Delete(file["_id"]);
          if (!Is(deleted, Error::kFileNotFound)) {  // by another worker
            RETURN_IF_ERROR(deleted);
          }
        } else {
          RETURN_IF_ERROR(SetState(file["_id"], state, shown ? "live" : "dead"));
        }
        report.changed += 1;
        RETURN_IF_ERROR(store_.seams().After("cms.gc_files", static_cast<int>(report.examined)));
      }
      page.after = files.next;
    } while (!page.after.empty());
  }
  return report;
}

Result<JobReport> Cms::Work::GcChunks() const {
  return RunLeased(Lease(store_, "cms.gc_chunks", options_.worker, options_.lease),
                   [&] { return assets_.SweepChunks(store_.Ago(options_.tombstone_retention)); });
}

// Nodes are read before files, for the same reason as above.
Result<std::vector<std::string>> Cms::Work::CheckInvariants() const {
  std::vector<std::string> wrong;
  std::map<std::string, std::string> photos;  // by name, the file's id
  RETURN_IF_ERROR(Walk(store_, kCmsNodes, [&](const Document& node) {
    const std::string name = std::string(TextAt(node, "metadata.section")) + "/" +
                             std::string(TextAt(node, "metadata.slug"));
    if (TextAt(node, "metadata.type") == kPhotoType) {
      photos[name] = bson::ToJson(At(node, "metadata.detail.file_id"));
    }
    if (HasTwice(At(node, "metadata.tags"))) {
      wrong.push_back("a tag twice on " + name);
    }
    return Status::Ok();
  }));
  ASSIGN_OR_RETURN(std::set<std::string> whole, WholeFiles(store_, &wrong));
  for (const auto& [name, file] : photos) {
    if (!whole.contains(file)) {
      wrong.push_back("no whole file of photo " + name);
    }
  }
  return wrong;
}

}  // namespace quire::patterns
