// SPDX-License-Identifier: Apache-2.0
//
// replay FOLDER RUNS: a fuzzer's target without libFuzzer. Runs every input of the folder, then
// RUNS of them changed at random, always the same way; the last line is `N inputs, ok`. For targets
// whose instrumented build takes too long for every test run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Random = std::minstd_rand;

size_t Below(Random& random, size_t bound) { return bound == 0 ? 0 : random() % bound; }

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

// One small change: a byte, a piece removed, doubled or taken from another input.
void Change(Random& random, const std::string& other, std::string* input) {
  size_t at = Below(random, input->size());
  size_t length = 1 + Below(random, 16);
  switch (Below(random, 5)) {
    case 0:
      if (!input->empty()) {
        (*input)[at] = static_cast<char>(random());
      }
      break;
    case 1:
      input->erase(at, length);
      break;
    case 2:
      input->insert(at, input->substr(at, length));
      break;
    case 3: {
      size_t from = Below(random, other.size());
      input->insert(at, other.substr(from, length));
      break;
    }
    default:
      input->replace(at, length, other.substr(Below(random, other.size()), length));
  }
}

std::vector<std::string> ReadFolder(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: replay FOLDER RUNS\n");
    return 2;
  }
  std::vector<std::string> inputs = ReadFolder(argv[1]);
  for (const std::string& input : inputs) {
    Run(input);
  }
  long runs = inputs.empty() ? 0 : strtol(argv[2], nullptr, 10);
  Random random(1);
  for (long i = 0; i < runs; ++i) {
    std::string input = inputs[Below(random, inputs.size())];
    for (size_t changes = 1 + Below(random, 4); changes > 0; --changes) {
      Change(random, inputs[Below(random, inputs.size())], &input);
    }
    Run(input);
  }
  printf("%zu inputs, ok\n", inputs.size() + static_cast<size_t>(runs));
  return 0;
}
