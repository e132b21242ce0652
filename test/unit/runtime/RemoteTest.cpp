// SPDX-License-Identifier: Apache-2.0
//
// Texts of far files: URLs, settings of AWS's tools, listings of buckets.
#include "runtime/remote/S3.h"

#include <gtest/gtest.h>

using namespace penstock::runtime;

TEST(RemoteTexts, UrlsInMessagesHaveNoSecrets) {
  EXPECT_EQ(withoutSecrets("https://me:pass@host:80/a@b/c?key=1"), "https://host:80/a@b/c");
  EXPECT_EQ(withoutSecrets("https://me:p@ss@host"), "https://host");
  EXPECT_EQ(withoutSecrets("s3://bucket/key?a"), "s3://bucket/key?a");
  EXPECT_EQ(withoutSecrets("cannot read http://h/a?b=c/d: no, `https://u:p@g/x?y` http https://"),
            "cannot read http://h/a: no, `https://g/x` http https://");
  EXPECT_EQ(withoutSecrets("http://h/l.csv?q=1:3: column"), "http://h/l.csv:3: column");
  EXPECT_EQ(withoutSecrets("http://h/l.csv:3: column"), "http://h/l.csv:3: column");
}

TEST(RemoteTexts, LettersAreEncoded) {
  EXPECT_EQ(percentEncoded("a b/ä#%.~", "/"), "a%20b/%C3%A4%23%25.~");
  EXPECT_EQ(percentEncoded(std::string_view("\0", 1), ""), "%00");
}

TEST(RemoteTexts, ProfilesOfEitherFile) {
  const std::string text = "; comment\r\n[default]\r\nregion = a\r\n[ profile  work ]\nregion=b\n"
                           "s3 =\n  region = nested\n\n# other\nx = 1 = 2\n[work2]\nregion = c";
  EXPECT_EQ(readProfile(text, "default"), (std::map<std::string, std::string>{{"region", "a"}}));
  EXPECT_EQ(readProfile(text, "work"),
            (std::map<std::string, std::string>{{"region", "b"}, {"s3", ""}, {"x", "1 = 2"}}));
  EXPECT_EQ(readProfile(text, "work2").at("region"), "c");
  EXPECT_TRUE(readProfile(text, "none").empty());
  EXPECT_TRUE(readProfile("[", "").empty());
}

TEST(RemoteTexts, ListingsThatAreCutOrHaveNamesOfNoFolder) {
  const auto answer = [](const std::string &inner) {
    return "<ListBucketResult>" + inner + "</ListBucketResult>";
  };
  for (const char *inner :
       {"<IsTruncated>true</IsTruncated>", "<CommonPrefixes><Prefix>p//</Prefix></CommonPrefixes>",
        "<CommonPrefixes><Prefix>p/../</Prefix></CommonPrefixes>",
        "<Contents><Key>p/.</Key></Contents>"})
    EXPECT_FALSE(readListing(answer(inner), "p/").ok()) << inner;
  const auto blank = readListing(answer("<Contents><Key>p/a+b%2B</Key></Contents>"), "p/");
  ASSERT_TRUE(blank.ok());
  EXPECT_EQ(blank->entries.at(0).name, "a b+");
}

TEST(RemoteTexts, Listings) {
  const auto listing =
      readListing("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Prefix>p/</Prefix>"
                  "<Contents><Key>p/</Key><Size>0</Size></Contents>"
                  "<Contents><Key>p/a%20b&amp;c</Key><Owner><Key>no</Key></Owner></Contents>"
                  "<Contents><Key>other</Key></Contents>"
                  "<CommonPrefixes><Prefix>p/d/</Prefix></CommonPrefixes>"
                  "<NextContinuationToken>t&lt;</NextContinuationToken></ListBucketResult>",
                  "p/");
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  ASSERT_EQ(listing->entries.size(), 2u);
  EXPECT_EQ(listing->entries[0].name, "a b&c");
  EXPECT_EQ(listing->entries[0].kind, FileKind::File);
  EXPECT_EQ(listing->entries[1].name, "d");
  EXPECT_EQ(listing->entries[1].kind, FileKind::Folder);
  EXPECT_EQ(listing->next, "t<");
}

TEST(RemoteTexts, WhatIsNoListing) {
  for (const char *text : {"", "<html></html>", "<ListBucketResult>", "{}",
                           "<ListBucketResult><Contents></ListBucketResult>"})
    EXPECT_FALSE(readListing(text, "").ok()) << text;
  EXPECT_EQ(readListing("<Error/>", "").error().message, "the answer is no listing");
}

TEST(RemoteTexts, TagsOfErrors) {
  EXPECT_EQ(tagIn("<Error><Message>Access Denied</Message></Error>", "Message"), "Access Denied");
  EXPECT_EQ(tagIn("<Error><Message>Access", "Message"), "");
  EXPECT_EQ(tagIn("", "Message"), "");
}
