// SPDX-License-Identifier: Apache-2.0
//
// Watching a collection: what changes while a cursor waits, and going on after a break from the
// token of what was seen last.
#include <chrono>
#include <iostream>

#include "quire/quire.h"

using quire::Doc;
using quire::Status;

// Shows up to `count` events; those of inserts and updates with the document.
Status Show(quire::Cursor& events, int count) {
  while (count-- > 0 && events.TryNext(std::chrono::seconds(10))) {
    quire::bson::View event = events.current();
    std::cout << event["operationType"].AsString() << " "
              << quire::bson::ToJson(event["documentKey"]);
    if (event.Has("fullDocument")) {
      std::cout << " " << quire::bson::ToJson(event["fullDocument"]);
    }
    std::cout << "\n";
  }
  return events.status();
}

Status Run(const quire::Client& client) {
  quire::Collection tasks = client.GetDatabase("app").GetCollection("tasks");
  auto events = tasks.Watch({Doc("$match", Doc("operationType", Doc("$ne", "invalidate")))},
                            {.full_document = "updateLookup"});
  if (!events.ok()) {
    return events.status();
  }
  auto first = tasks.InsertOne(Doc("_id", 1, "title", "write", "done", false));
  auto second = tasks.InsertOne(Doc("_id", 2, "title", "test", "done", false));
  if (!first.ok() || !second.ok()) {
    return first.ok() ? second.status() : first.status();
  }
  if (Status status = Show(*events, 2); !status.ok()) {
    return status;
  }
  quire::bson::Document seen = events->resume_token();

  // Nobody watches now; the changes are kept.
  events = tasks.Watch();
  auto done = tasks.UpdateOne(Doc("_id", 1), Doc("$set", Doc("done", true)));
  auto gone = tasks.DeleteOne(Doc("_id", 2));
  if (!done.ok() || !gone.ok()) {
    return done.ok() ? gone.status() : done.status();
  }
  std::cout << "resumed\n";
  events = tasks.Watch({}, {.full_document = "updateLookup", .resume_after = seen});
  return events.ok() ? Show(*events, 2) : events.status();
}

int main() {
  auto client = quire::OpenInMemory();
  Status status = client.ok() ? Run(*client) : client.status();
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
  }
  return status.ok() ? 0 : 1;
}
