// SPDX-License-Identifier: Apache-2.0
//
// Quire as a library: a document database inside the process, or at a mongodb:// address. This is
// the header to include: it has everything but the application systems of quire/patterns/.
//
//   auto client = quire::OpenInMemory();  // or quire::Open("data")
//   if (!client.ok()) return client.status();
//   auto people = client->GetDatabase("app").GetCollection("people");
//   auto id = people.InsertOne(quire::Doc("_id", 7, "name", "Ada", "born", 1815));
//   for (auto& person : *people.Find(quire::Doc("born", quire::Doc("$lt", 1900)))) {
//     std::cout << quire::bson::ToJson(person) << "\n";  // {"_id":7,"name":"Ada","born":1815}
//   }
//
// Nothing throws, prints, aborts or handles signals. Whatever can fail returns a Status or a
// Result (quire/status.h) with MongoDB's error code (quire/error.h); documents are those of
// quire/bson.h, written down with quire/doc.h.
#pragma once

#include "quire/bson.h"        // IWYU pragma: export
#include "quire/client.h"      // IWYU pragma: export
#include "quire/collection.h"  // IWYU pragma: export
#include "quire/cursor.h"      // IWYU pragma: export
#include "quire/database.h"    // IWYU pragma: export
#include "quire/doc.h"         // IWYU pragma: export
#include "quire/error.h"       // IWYU pragma: export
#include "quire/options.h"     // IWYU pragma: export
#include "quire/session.h"     // IWYU pragma: export
#include "quire/status.h"      // IWYU pragma: export
