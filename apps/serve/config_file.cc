// SPDX-License-Identifier: Apache-2.0
//
// The configuration file: YAML with mongod's nested keys. yaml-cpp throws; nothing leaves here.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>

#include "base/error_codes.h"
#include "base/try.h"
#include "serve/settings.h"

namespace quire::apps {
namespace {

const Option* FindPath(const std::string& path) {
  for (const Option& option : AllOptions()) {
    if (!option.path.empty() && option.path == path) {
      return &option;
    }
  }
  return nullptr;
}

// "net", of "net.port".
bool HoldsOptions(const std::string& path) {
  return std::ranges::any_of(
      AllOptions(), [&](const Option& option) { return option.path.starts_with(path + "."); });
}

class Reader {
 public:
  Reader(std::string file, Parsed* out)
      : file_(std::move(file)), from_command_line_(out->given), out_(out) {}

  Status Read(const YAML::Node& node, const std::string& path) {
    if (path == "setParameter") {
      return ReadParameters(node);
    }
    if (node.IsMap()) {
      for (const auto& entry : node) {
        auto key = entry.first.as<std::string>();
        RETURN_IF_ERROR(Read(entry.second, path.empty() ? key : path + "." + key));
      }
      return Status::Ok();
    }
    if (node.IsNull()) {
      return Status::Ok();
    }
    const Option* option = FindPath(path);
    if (option == nullptr) {
      return Error(HoldsOptions(path) ? "'" + path + "' holds options, and no value of its own"
                                      : UnknownOption(path, path, true).message());
    }
    if (!node.IsScalar()) {
      return Error("'" + path + "' takes one value");
    }
    if (from_command_line_.count(option->name) != 0) {
      return Status::Ok();
    }
    auto text = node.as<std::string>();
    if (option->name == "nounixsocket" || option->name == "noscripting") {
      // The file says the opposite: enabled.
      text = node.as<bool>() ? "false" : "true";
    }
    if (option->name == "journal" && !node.as<bool>()) {
      return Error("storage.journal.enabled: the journal cannot be turned off");
    }
    Status status = SetFromText(*option, text, out_);
    return status.ok() ? status : Error(path + ": " + status.message());
  }

 private:
  Status Error(const std::string& text) const { return {kBadValue, file_ + ": " + text}; }

  Status ReadParameters(const YAML::Node& node) {
    if (!node.IsMap()) {
      return Error("setParameter must hold names and values");
    }
    for (const auto& entry : node) {
      out_->settings.set_parameter.push_back(entry.first.as<std::string>() + "=" +
                                             entry.second.as<std::string>());
      out_->given.insert("setParameter");
    }
    return Status::Ok();
  }

  std::string file_;
  std::set<std::string_view> from_command_line_;
  Parsed* out_;
};

}  // namespace

Status ReadConfigFile(const std::string& path, Parsed* parsed) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return {kBadValue, "cannot read configuration file: " + path + " is a folder"};
  }
  try {
    YAML::Node root = YAML::LoadFile(path);
    if (root.IsNull()) {
      return Status::Ok();
    }
    if (!root.IsMap()) {
      return {kBadValue, path + ": not a YAML map"};
    }
    return Reader(path, parsed).Read(root, "");
  } catch (const YAML::BadFile&) {
    return {kBadValue, "cannot read configuration file " + path};
  } catch (const YAML::Exception& e) {
    return {kBadValue, path + ": " + e.what()};
  } catch (const std::ios_base::failure&) {
    return {kBadValue, "cannot read configuration file " + path};
  }
}

}  // namespace quire::apps
