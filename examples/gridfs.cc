// SPDX-License-Identifier: Apache-2.0
//
// Files larger than a document, in GridFS as the drivers have it: stored piece by piece, read in
// parts, by name and revision.
#include "quire/patterns/gridfs.h"

#include <iostream>
#include <string>

#include "quire/quire.h"

using quire::Doc;
using quire::Status;

Status Run(const quire::Client& client) {
  quire::patterns::GridFs files(client, "app", {.chunk_size = 1024});
  auto upload = files.OpenUpload("song.txt", {.metadata = Doc("language", "en")});
  if (!upload.ok()) {
    return upload.status();
  }
  for (int verse = 1; verse <= 100; ++verse) {
    Status written = upload->Write("verse " + std::to_string(verse) + " of the same song\n");
    if (!written.ok()) {
      return written;
    }
  }
  auto file = upload->Finish();
  if (!file.ok()) {
    return file.status();
  }
  std::cout << file->filename << ": " << file->length << " bytes, "
            << quire::bson::ToJson(file->metadata) << "\n";

  auto part = files.Download(file->id.value(), {.start = 0, .end = 7});
  if (!part.ok()) {
    return part.status();
  }
  std::cout << "begins with \"" << *part << "\"\n";

  auto second = files.Upload("song.txt", "a new song\n");
  if (!second.ok()) {
    return second.status();
  }
  std::cout << "newest: " << *files.DownloadByName("song.txt");
  std::cout << "oldest: " << files.DownloadByName("song.txt", 0)->size() << " bytes\n";
  if (Status status = files.Delete(second->value()); !status.ok()) {
    return status;
  }
  auto chunks = client.GetDatabase("app").GetCollection("fs.chunks").Count();
  std::cout << *chunks << " chunks\n";
  return chunks.status();
}

int main() {
  auto client = quire::OpenInMemory();
  Status status = client.ok() ? Run(*client) : client.status();
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
  }
  return status.ok() ? 0 : 1;
}
