// SPDX-License-Identifier: Apache-2.0
//
// Compiled programs as bytes.
#include "api/c/Packing.h"
#include <cstring>
#include <xxhash.h>

using namespace penstock;
using namespace penstock::api;

std::string Writer::finish(std::string_view magic) const {
  const uint64_t sum = XXH3_64bits(bytes.data(), bytes.size());
  return std::string(magic) + std::string(reinterpret_cast<const char *>(&sum), sizeof sum) + bytes;
}

Reader::Reader(std::string file, std::string_view magic) : bytes(std::move(file)) {
  uint64_t sum = 0;
  good = bytes.size() >= 16 && bytes.compare(0, 8, magic) == 0;
  if (!good)
    return;
  std::memcpy(&sum, bytes.data() + 8, sizeof sum);
  good = sum == XXH3_64bits(bytes.data() + 16, bytes.size() - 16);
}

uint64_t Reader::number() {
  uint64_t value = 0;
  if ((good = good && bytes.size() - at >= sizeof value)) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
  }
  return value;
}

std::string Reader::text() {
  const uint64_t size = number();
  if (!(good = good && size <= bytes.size() - at))
    return {};
  at += size;
  return bytes.substr(at - size, size);
}

void api::writeParameters(Writer &writer, const std::vector<Parameter> &parameters) {
  writer.number(parameters.size());
  for (const Parameter &parameter : parameters) {
    writer.text(parameter.name);
    writer.text(parameter.type);
    writer.text(parameter.doc);
    writer.number(parameter.isStatic);
    writer.number(parameter.defaultValue.has_value());
    writer.text(parameter.defaultValue.value_or(""));
  }
}

std::vector<Parameter> api::readParameters(Reader &reader) {
  std::vector<Parameter> parameters;
  for (uint64_t count = reader.number(); reader.good && parameters.size() < count;) {
    Parameter parameter;
    parameter.name = reader.text();
    parameter.type = reader.text();
    parameter.doc = reader.text();
    parameter.isStatic = reader.number();
    const bool hasDefault = reader.number();
    std::string value = reader.text();
    if (hasDefault)
      parameter.defaultValue = std::move(value);
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

void api::writeProgram(Writer &writer, const Compiled &compiled) {
  writer.text(compiled.name);
  writeParameters(writer, compiled.parameters);
  writer.text(compiled.gpuPlaces.stage);
  writer.text(compiled.gpuPlaces.output);
  writer.text(compiled.transfer);
  writer.number(compiled.device.size());
  for (const runtime::DeviceImage &image : compiled.device) {
    writer.number(static_cast<uint64_t>(image.architecture));
    writer.number(image.isPtx);
    writer.text(image.bytes);
  }
  writer.text({reinterpret_cast<const char *>(compiled.plan.data()), compiled.plan.size()});
  writer.text({reinterpret_cast<const char *>(compiled.image.data()), compiled.image.size()});
}

Compiled api::readProgram(Reader &reader) {
  Compiled compiled;
  compiled.name = reader.text();
  compiled.parameters = readParameters(reader);
  compiled.gpuPlaces.stage = reader.text();
  compiled.gpuPlaces.output = reader.text();
  compiled.transfer = reader.text();
  for (uint64_t count = reader.number(); reader.good && compiled.device.size() < count;) {
    runtime::DeviceImage image;
    image.architecture = static_cast<int>(reader.number());
    image.isPtx = reader.number();
    image.bytes = reader.text();
    compiled.device.push_back(std::move(image));
  }
  const std::string plan = reader.text(), image = reader.text();
  compiled.plan.assign(plan.begin(), plan.end());
  compiled.image.assign(image.begin(), image.end());
  return compiled;
}
