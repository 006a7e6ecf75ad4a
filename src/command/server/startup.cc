// SPDX-License-Identifier: Apache-2.0
#include "command/server/startup.h"

#include <unistd.h>

#include <ctime>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"
#include "command/repl/set_of_one.h"
#include "command/stored_version.h"
#include "engine/schema/schema.h"

namespace quire::command {
namespace {

constexpr std::string_view kStartupLog = "local.startup_log";

// "Tue Nov 17 23:16:47.000"
std::string LocalTime(bson::Date now) {
  const auto seconds = static_cast<time_t>(now.millis / 1000);
  struct tm parts {};
  localtime_r(&seconds, &parts);
  char text[64];
  const size_t size = strftime(text, sizeof text, "%a %b %e %H:%M:%S", &parts);
  char millis[8];
  snprintf(millis, sizeof millis, ".%03d", static_cast<int>(now.millis % 1000));
  return std::string(text, size) + millis;
}

// The reply of a command that needs no rights, without what every reply has.
bson::Document AnswerOf(Commands& commands, std::string_view name) {
  request::Client client;
  const bson::Document body = bson::Builder().Append(name, 1).Finish();
  request::Request request;
  request.body = body;
  request.database = "admin";
  std::string reply;
  commands.Run(client, request, &reply);
  bson::Builder out;
  for (const bson::Element& e : bson::View(reply.data())) {
    if (e.name() != "ok" && e.name() != "operationTime" && e.name() != "$clusterTime") {
      out.Append(e);
    }
  }
  return out.Finish();
}

Status AddToStartupLog(Commands& commands) {
  engine::Engine& engine = commands.engine();
  constexpr int32_t kBytes = 10 << 20;
  OpContext op;
  engine::Operation operation{engine, op};
  const bson::Document capped =
      bson::Builder().Append("capped", true).Append("size", kBytes).Finish();
  Status made = engine::CreateCollection(operation, std::string(kStartupLog), capped);
  if (!made.ok() && made.code() != kNamespaceExists) {
    return made;
  }
  const ServerInfo& info = commands.info();
  const std::string host = info.host.substr(0, info.host.rfind(':'));
  const bson::Document build = AnswerOf(commands, "buildInfo");
  const bson::Date now = WallClock();
  bson::Builder out;
  out.Append("_id", host + "-" + std::to_string(now.millis))
      .Append("hostname", host)
      .Append("startTime", now)
      .Append("startTimeLocal", LocalTime(now))
      .Append("cmdLine", info.parsed_options)
      .Append("pid", static_cast<int64_t>(getpid()))
      .Append("buildinfo", build);
  const bson::Document start = out.Finish();
  return AddOwn(engine, kStartupLog, start);
}

}  // namespace

Status NoteStart(Commands& commands) {
  // What a set keeps is its primary's to write.
  if (commands.engine().replication == nullptr) {
    RETURN_IF_ERROR(KeepVersion(commands.engine()));
    commands.cluster().Load(commands.engine());
    RETURN_IF_ERROR(KeepConfiguration(commands.engine(), commands.info()));
  }
  return AddToStartupLog(commands);
}

}  // namespace quire::command
