// SPDX-License-Identifier: Apache-2.0
//
// conformance [-v] [-k WORD] [--wire] [--known FILE] CASES.json...: runs recorded cases in process,
// with --wire through a socket at a server of its own, and compares each reply with what MongoDB
// answered. FILE names the cases known to differ, one
// `area/case reason` a line; a case that fails and is not named there fails the run, and so does
// one that is named and passes. The last line is `N passed, N failed`.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "api/access.h"
#include "api/door.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "json.h"
#include "normal.h"
#include "quire/quire.h"
#include "served/served.h"
#include "socket_handler.h"

namespace quire::conformance {
namespace {

struct Options {
  bool verbose = false;
  bool wire = false;
  std::string word;
  std::string known_file;
  std::vector<std::string> files;
};

struct Totals {
  int passed = 0;
  int failed = 0;
  int known = 0;
};

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Status(kFileNotOpen, "cannot read " + path);
  }
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// area/case -> reason
Result<std::map<std::string, std::string>> ReadKnown(const std::string& path) {
  std::map<std::string, std::string> known;
  if (path.empty()) {
    return known;
  }
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    const size_t space = line.find(' ');
    if (space == line.npos) {
      return Status(kFailedToParse, path + ": no reason given for " + line);
    }
    known[line.substr(0, space)] = line.substr(line.find_first_not_of(' ', space));
  }
  return known;
}

Status DropDatabase(Client* client, const std::string& database) {
  return client->GetDatabase(database).Drop();
}

Status SetUp(Client* client, const std::string& database, const Json& test) {
  RETURN_IF_ERROR(DropDatabase(client, database));
  static const Json kNone;
  const Json* setup = test.Find("setup");
  for (const auto& [collection, documents] : (setup ? setup : &kNone)->members) {
    if (documents.members.empty()) {
      continue;
    }
    ASSIGN_OR_RETURN(bson::Document array, ToBson(documents));
    ASSIGN_OR_RETURN(bson::Document reply,
                     client->GetDatabase(database).RunCommand(
                         Doc("insert", collection, "documents", Array{std::move(array)})));
    if (reply.view().Has("writeErrors")) {
      return Status(kBadValue, "setup: " + bson::ToJson(reply));
    }
  }
  const Json* indexes = test.Find("indexes");
  for (const auto& [collection, specs] : (indexes ? indexes : &kNone)->members) {
    ASSIGN_OR_RETURN(bson::Document array, ToBson(specs));
    RETURN_IF_ERROR(
        client->GetDatabase(database)
            .RunCommand(Doc("createIndexes", collection, "indexes", Array{std::move(array)}))
            .status());
  }
  return Status::Ok();
}

// Ok, or what differs.
Status RunStep(Client* client, const std::string& database, const Json& step) {
  const std::string check = step.TextOf("check", "exact");
  ASSIGN_OR_RETURN(bson::Document command, ToBson(*step.Find("run")));
  ASSIGN_OR_RETURN(bson::Document want, ToBson(*step.Find("want")));
  Result<bson::Document> reply =
      client->GetDatabase(step.TextOf("db", database)).RunCommand(command);
  bson::Document got = Normal(reply, check, database);
  bson::Document expected = NormalWant(want, check);
  if (got.bytes() == expected.bytes()) {
    return Status::Ok();
  }
  std::string message = "step " + bson::ToJson(command).substr(0, 600) + "\n      want " +
                        bson::ToCanonicalJson(expected).substr(0, 900);
  if (const Json* text = step.Find("errmsg")) {
    message += " (" + text->text + ")";
  }
  message += "\n      got  " + bson::ToCanonicalJson(got).substr(0, 900);
  return Status(kBadValue, message + (reply.ok() ? "" : " (" + reply.status().message() + ")"));
}

Status RunCase(Client* client, const std::string& database, const Json& test) {
  RETURN_IF_ERROR(SetUp(client, database, test).WithPrefix("setup: "));
  for (const auto& [unused, step] : test.Find("steps")->members) {
    RETURN_IF_ERROR(RunStep(client, database, step));
  }
  return DropDatabase(client, database);
}

Status RunFile(Client* client, const std::string& path, const Options& options,
               const std::map<std::string, std::string>& known, Totals* totals) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(Json file, ParseJson(text));
  const std::string area = file.TextOf("area");
  Totals here;
  int index = 0;
  for (const auto& [unused, test] : file.Find("cases")->members) {
    const std::string name = area + "/" + test.TextOf("name");
    const std::string database = "g_" + area + "_" + std::to_string(index++);
    if (name.find(options.word) == name.npos) {
      continue;
    }
    Status status = RunCase(client, database, test);
    const bool listed = known.contains(name);
    if (!status.ok() && listed) {
      ++here.known;
    } else if (status.ok() && !listed) {
      ++here.passed;
    } else {
      ++here.failed;
      std::printf("FAIL %s%s\n", name.c_str(), listed ? " passes: take it off the list" : "");
    }
    if (!status.ok() && options.verbose) {
      std::printf("   %s\n", status.message().c_str());
    }
  }
  std::printf("%s: %d passed, %d failed, %d known to differ\n", area.c_str(), here.passed,
              here.failed, here.known);
  std::fflush(stdout);
  totals->passed += here.passed;
  totals->failed += here.failed;
  totals->known += here.known;
  return Status::Ok();
}

Result<Client> OpenClient(bool wire) {
  if (!wire) {
    return OpenInMemory();
  }
  if (served::Address().empty()) {
    return Status(kHostUnreachable, "the server does not start");
  }
  ASSIGN_OR_RETURN(auto handler, ConnectSocket(served::Address()));
  return api::Access::MakeClient(std::make_shared<api::Door>(std::move(handler)));
}

Status RunAll(const Options& options, Totals* totals) {
  ASSIGN_OR_RETURN(auto known, ReadKnown(options.known_file));
  ASSIGN_OR_RETURN(Client client, OpenClient(options.wire));
  for (const std::string& file : options.files) {
    RETURN_IF_ERROR(RunFile(&client, file, options, known, totals).WithPrefix(file + ": "));
  }
  return Status::Ok();
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-v") == 0) {
      options.verbose = true;
    } else if (std::strcmp(argv[i], "--wire") == 0) {
      options.wire = true;
    } else if (std::strcmp(argv[i], "-k") == 0 && i + 1 < argc) {
      options.word = argv[++i];
    } else if (std::strcmp(argv[i], "--known") == 0 && i + 1 < argc) {
      options.known_file = argv[++i];
    } else {
      options.files.emplace_back(argv[i]);
    }
  }
  Totals totals;
  Status status = RunAll(options, &totals);
  if (!status.ok()) {
    std::printf("%s\n", status.ToString().c_str());
    totals.failed += 1;
  }
  std::printf("%d known to differ\n%d passed, %d failed\n", totals.known, totals.passed,
              totals.failed);
  return totals.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace quire::conformance

int main(int argc, char** argv) { return quire::conformance::Main(argc, argv); }
