// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/ClassNames.h"

#include <gtest/gtest.h>

using namespace penstock::runtime;

TEST(ClassNames, AreNumberedInTheirOrder) {
  auto classes = ClassNames::make({"bird", "a cat", " dog"});
  ASSERT_TRUE(classes);
  EXPECT_EQ(*classes->numberOf("bird"), 0);
  EXPECT_EQ(*classes->numberOf(" a cat\r\n"), 1);
  EXPECT_EQ(*classes->numberOf(" dog"), 2);
  for (const char *other : {"dog", "Bird", "", " ", "bir", "acat"})
    EXPECT_FALSE(classes->numberOf(other)) << other;
  EXPECT_EQ(classes->numberOf(" cow\r\n").error().message,
            "`cow` is none of the classes `bird`, `a cat` and ` dog`");
}

TEST(ClassNames, MessagesAreShort) {
  std::vector<std::string> many;
  for (int i = 0; i < 1000; ++i)
    many.push_back("class" + std::to_string(i));
  EXPECT_EQ(ClassNames::make(many)->numberOf(std::string(90, 'x')).error().message,
            "`" + std::string(40, 'x') +
                "...` is none of the classes `class0`, `class1`, `class2`, `class3`, `class4`, "
                "`class5` ... (1000)");
}

TEST(ClassNames, MessagesHaveWholeCharacters) {
  const std::string letters(39, 'x'), name = letters + "\xC3\xB6 and more";
  EXPECT_EQ(ClassNames::make({"cat"})->numberOf(name).error().message,
            "`" + letters + "...` is none of the classes `cat`");
}

TEST(ClassNames, AreNeitherEmptyNorThereTwice) {
  EXPECT_EQ(ClassNames::make({}).error().message, "there are no classes");
  EXPECT_EQ(ClassNames::make({"a", ""}).error().message, "class 1 has no name");
  EXPECT_EQ(ClassNames::make({"a", "b", "a"}).error().message, "there are two classes `a`");
}
