# Writes OUTPUT, a C++ file with the text of the modules in FILES (a list).
# Run with `cmake -P`. Bytes, because compilers limit the length of a string
# literal.
set(code "// Generated from stdlib/*.pipe.\n#include \"stdlib/Modules.h\"\n\n")
string(APPEND code "namespace penstock::stdlib {\nnamespace {\nstruct Module {\n  std::string_view name, text;\n};\n")
set(table "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND code "constexpr unsigned char ${name}_bytes[] = {${bytes}0};\n")
  string(APPEND table "      {\"${name}\", {reinterpret_cast<const char *>(${name}_bytes), sizeof(${name}_bytes) - 1}},\n")
endforeach()
string(APPEND code "const Module *begin() {\n  static const Module modules[] = {\n${table}      {{}, {}}};\n  return modules;\n}\n} // namespace\n\n")
string(APPEND code "std::optional<std::string_view> moduleText(std::string_view name) {\n  for (const Module *m = begin(); !m->name.empty(); ++m)\n    if (m->name == name)\n      return m->text;\n  return std::nullopt;\n}\n\n")
string(APPEND code "std::vector<std::string_view> moduleNames() {\n  std::vector<std::string_view> names;\n  for (const Module *m = begin(); !m->name.empty(); ++m)\n    names.push_back(m->name);\n  return names;\n}\n\n} // namespace penstock::stdlib\n")
file(WRITE ${OUTPUT} "${code}")
