// SPDX-License-Identifier: Apache-2.0
#include "wire/compression.h"

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/error_codes.h"

namespace quire::wire {
namespace {

// The most bytes one compressed byte can stand for, rounded up: a copy of 64 bytes takes 3 in
// snappy; deflate's bound is 1032.
constexpr size_t kSnappyRatio = 32;
constexpr size_t kZlibRatio = 1100;
constexpr size_t kStep = size_t{256} << 10;

Status Corrupt() { return {kBadValue, "Compressed message cannot be decompressed"}; }

Status Unsnap(std::string_view bytes, size_t size, std::string* out) {
  size_t length = 0;
  if (!snappy::GetUncompressedLength(bytes.data(), bytes.size(), &length) || length != size ||
      size > bytes.size() * kSnappyRatio + kSnappyRatio) {
    return Corrupt();
  }
  size_t base = out->size();
  out->resize(base + size);
  if (!snappy::RawUncompress(bytes.data(), bytes.size(), out->data() + base)) {
    return Corrupt();
  }
  return Status::Ok();
}

Status Inflate(std::string_view bytes, size_t size, std::string* out) {
  if (size > bytes.size() * kZlibRatio + kZlibRatio) {
    return Corrupt();
  }
  size_t base = out->size();
  out->resize(base + size);
  uLongf length = size;
  int rc = uncompress(reinterpret_cast<Bytef*>(out->data() + base), &length,
                      reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return rc == Z_OK && length == size ? Status::Ok() : Corrupt();
}

Status Unzstd(std::string_view bytes, size_t size, std::string* out) {
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                  ZSTD_freeDStream);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t base = out->size();
  size_t done = 0;
  while (true) {
    size_t room = std::min(size - done, std::max(kStep, done));
    out->resize(base + done + room);
    ZSTD_outBuffer block{out->data() + base + done, room, 0};
    size_t rc = ZSTD_decompressStream(stream.get(), &block, &in);
    done += block.pos;
    if (ZSTD_isError(rc) != 0 || (rc != 0 && block.pos == 0)) {
      return Corrupt();
    }
    if (rc == 0) {
      return done == size && in.pos == in.size ? Status::Ok() : Corrupt();
    }
  }
}

}  // namespace

std::optional<Compressor> CompressorByName(std::string_view name) {
  if (name == "snappy") return Compressor::kSnappy;
  if (name == "zlib") return Compressor::kZlib;
  if (name == "zstd") return Compressor::kZstd;
  if (name == "noop") return Compressor::kNoop;
  return std::nullopt;
}

Status Compress(Compressor compressor, std::string_view bytes, std::string* out) {
  size_t base = out->size();
  switch (compressor) {
    case Compressor::kNoop:
      out->append(bytes);
      return Status::Ok();
    case Compressor::kSnappy: {
      out->resize(base + snappy::MaxCompressedLength(bytes.size()));
      size_t length = 0;
      snappy::RawCompress(bytes.data(), bytes.size(), out->data() + base, &length);
      out->resize(base + length);
      return Status::Ok();
    }
    case Compressor::kZlib: {
      uLongf length = compressBound(bytes.size());
      out->resize(base + length);
      if (compress(reinterpret_cast<Bytef*>(out->data() + base), &length,
                   reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != Z_OK) {
        return {kInternalError, "zlib compression failed"};
      }
      out->resize(base + length);
      return Status::Ok();
    }
    case Compressor::kZstd: {
      out->resize(base + ZSTD_compressBound(bytes.size()));
      size_t length = ZSTD_compress(out->data() + base, out->size() - base, bytes.data(),
                                    bytes.size(), ZSTD_CLEVEL_DEFAULT);
      if (ZSTD_isError(length) != 0) {
        return {kInternalError, "zstd compression failed"};
      }
      out->resize(base + length);
      return Status::Ok();
    }
  }
  return {kBadValue, "Unknown compressor"};
}

Status Decompress(Compressor compressor, std::string_view bytes, size_t size, std::string* out) {
  switch (compressor) {
    case Compressor::kNoop:
      if (bytes.size() != size) {
        return Corrupt();
      }
      out->append(bytes);
      return Status::Ok();
    case Compressor::kSnappy:
      return Unsnap(bytes, size, out);
    case Compressor::kZlib:
      return Inflate(bytes, size, out);
    case Compressor::kZstd:
      return Unzstd(bytes, size, out);
  }
  return {kBadValue, "Unknown compressor"};
}

}  // namespace quire::wire
