# SPDX-License-Identifier: Apache-2.0
#
# Writes OUTPUT, a C++ file with the text of FILES (a list) for HEADER, which
# declares functions KINDText and KINDNames. A name is that of the file without
# its ending. Run with `cmake -P`. Bytes, because compilers limit the length of a
# string literal.
set(code "// Generated from ${KIND} files.\n#include \"${HEADER}\"\n\n")
string(APPEND code "namespace penstock::stdlib {\nnamespace {\nstruct Entry {\n  std::string_view name, text;\n};\n")
set(table "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND code "constexpr unsigned char ${name}_bytes[] = {${bytes}0};\n")
  string(APPEND table "      {\"${name}\", {reinterpret_cast<const char *>(${name}_bytes), sizeof(${name}_bytes) - 1}},\n")
endforeach()
string(APPEND code "const Entry *begin() {\n  static const Entry entries[] = {\n${table}      {{}, {}}};\n  return entries;\n}\n} // namespace\n\n")
string(APPEND code "std::optional<std::string_view> ${KIND}Text(std::string_view name) {\n  for (const Entry *e = begin(); !e->name.empty(); ++e)\n    if (e->name == name)\n      return e->text;\n  return std::nullopt;\n}\n\n")
string(APPEND code "std::vector<std::string_view> ${KIND}Names() {\n  std::vector<std::string_view> names;\n  for (const Entry *e = begin(); !e->name.empty(); ++e)\n    names.push_back(e->name);\n  return names;\n}\n\n} // namespace penstock::stdlib\n")
file(WRITE ${OUTPUT} "${code}")
