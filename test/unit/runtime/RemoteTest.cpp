// SPDX-License-Identifier: Apache-2.0
//
// Texts of far files: URLs, settings of AWS's tools, listings of buckets and repositories, headers.
#include "runtime/remote/AzureStorage.h"
#include "runtime/remote/HttpStore.h"
#include "runtime/remote/HuggingFace.h"
#include "runtime/remote/S3.h"
#include "runtime/remote/Signing.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <map>

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

TEST(RemoteTexts, HeadersByUrl) {
  const auto rules = readHeaderRules("# tokens\r\n\n https://a.example/x/../b/  X-Key:  y: z \r\n"
                                     "http://h:80\tA: b");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_EQ((*rules)[0].url, "https://a.example/b");
  EXPECT_EQ((*rules)[0].header, "X-Key:  y: z");
  EXPECT_EQ((*rules)[1].url, "http://h:80");
  for (const char *text : {"A: b", "s3://b A: c", "https://h", "https://h A", "https://h :b",
                           "https://h A:", "https://h A b: c", "https://h?x A: b"})
    EXPECT_FALSE(readHeaderRules(text).ok()) << text;
}

TEST(RemoteTexts, UrlsOfTheHub) {
  const auto place = readHubUrl("hf://datasets/me/pets@v1/a/b.tar");
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->kind + " " + place->name + " " + place->revision + " " + place->path,
            "datasets me/pets v1 a/b.tar");
  const auto model = readHubUrl("hf://me/model");
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->kind + " " + model->name + " " + model->revision + " " + model->path,
            "models me/model main ");
  EXPECT_EQ(readHubUrl("hf://spaces/a/b@refs/pr/3/c")->revision, "refs/pr/3");
  EXPECT_EQ(readHubUrl("hf://spaces/a/b@refs/pr/3/c")->path, "c");
  EXPECT_EQ(readHubUrl("hf://spaces/a/b@x%2Fy/c@d")->revision, "x/y");
  for (const char *url : {"", "hf://", "hf://datasets", "hf://datasets/a", "hf://a", "hf:///a/b",
                          "hf://a/@x/c", "hf://a/b@/c"})
    EXPECT_FALSE(readHubUrl(url).ok()) << url;
}

TEST(RemoteTexts, TreesOfTheHub) {
  const auto tree = readHubTree("[{\"type\": \"file\", \"path\": \"a/\\u00e4\", \"size\": 3},\n"
                                "{\"path\":\"a/b\",\"type\":\"directory\"}, "
                                "{\"path\":\"a/c\",\"type\":\"submodule\"}]",
                                "a");
  ASSERT_TRUE(tree.ok()) << tree.error().message;
  ASSERT_EQ(tree->size(), 2u);
  EXPECT_EQ((*tree)[0].name, "ä");
  EXPECT_EQ((*tree)[0].kind, FileKind::File);
  EXPECT_EQ((*tree)[1].name, "b");
  EXPECT_EQ((*tree)[1].kind, FileKind::Folder);
  EXPECT_TRUE(readHubTree(" [ ] ", "a")->empty());
  for (const char *text :
       {"", "{}", "[", "[1]", "[{}]", "[{\"type\":\"file\",\"path\":\"b/c\"}]",
        "[{\"type\":\"file\",\"path\":\"a/../c\"}]", "[{\"type\":\"file\",\"path\":\"a/..\"}]",
        "[{\"type\":\"file\",\"path\":\"ab\"}]", "[] x", "[{\"type\":1}]"})
    EXPECT_FALSE(readHubTree(text, "a").ok()) << text;
}

TEST(RemoteTexts, LinksToTheNextAnswer) {
  EXPECT_EQ(nextLink("<https://h/a?x=1,2>; rel=\"next\""), "https://h/a?x=1,2");
  EXPECT_EQ(nextLink("<https://h/b>; rel=\"prev\", <https://h/c>; rel=\"next\""), "https://h/c");
  for (const char *header : {"", "<", ">", "<a>", "<a>; rel=\"last\"", "a; rel=\"next\""})
    EXPECT_EQ(nextLink(header), "") << header;
}

TEST(RemoteTexts, ListingsOfAzure) {
  const auto listing = readListing(
      "\xEF\xBB\xBF<?xml version=\"1.0\"?><EnumerationResults "
      "ContainerName=\"c\"><Prefix>p/</Prefix>"
      "<Blobs><Blob><Name>p/a b+c%20&amp;</Name><Properties><Content-Length>7</Content-Length>"
      "</Properties></Blob><Blob><Name Encoded=\"true\">p/%01</Name></Blob>"
      "<Blob><Name>p/e</Name><Properties><ResourceType>directory</ResourceType></Properties></Blob>"
      "<BlobPrefix><Name>p/d/</Name></BlobPrefix></Blobs><NextMarker>2!</NextMarker>"
      "</EnumerationResults>",
      "p/");
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  std::map<std::string, FileKind> found;
  for (const FolderEntry &entry : listing->entries)
    found[entry.name] = entry.kind;
  EXPECT_EQ(found, (std::map<std::string, FileKind>{{"a b+c%20&", FileKind::File},
                                                    {"\x01", FileKind::File},
                                                    {"d", FileKind::Folder},
                                                    {"e", FileKind::Folder}}));
  EXPECT_EQ(listing->next, "2!");
}

TEST(RemoteTexts, ConnectionStrings) {
  const auto found = readConnectionString(" AccountName=me;AccountKey=a+/b==;;x; ;");
  EXPECT_EQ(found,
            (std::map<std::string, std::string>{{"AccountName", "me"}, {"AccountKey", "a+/b=="}}));
}

TEST(RemoteTexts, SignaturesByAKey) { // RFC 4231, 4.2 and 4.3
  const auto hex = [](const std::string &bytes) {
    std::string out;
    char digits[3];
    for (const char byte : bytes) {
      std::snprintf(digits, sizeof digits, "%02x", unsigned(uint8_t(byte)));
      out += digits;
    }
    return out;
  };
  EXPECT_EQ(hex(*signedByHmac("Hi There", base64(std::string(20, '\x0b')))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(*signedByHmac("what do ya want for nothing?", base64("Jefe"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  for (const char *key : {"", "abc", "!!!!"})
    EXPECT_FALSE(signedByHmac("x", key).ok()) << key;
}

TEST(RemoteTexts, EndsOfTokens) {
  EXPECT_EQ(endOfToken("3599", "7", 1000), 4599);
  EXPECT_EQ(endOfToken("", "5000", 1000), 5000);
  for (const char *when : {"", "0", "11/05/2025 15:18:31 +00:00", "1100"})
    EXPECT_EQ(endOfToken("", when, 1000), 1360) << when;
}

TEST(RemoteTexts, Base64OfTokens) { // RFC 4648, 10
  for (const auto &[bytes, text] : {std::pair{"", ""},
                                    {"f", "Zg"},
                                    {"fo", "Zm8"},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg"},
                                    {"\xfb\xff", "-_8"}})
    EXPECT_EQ(base64Url(bytes), text);
  EXPECT_EQ(base64("\xfb\xff"), "+/8=");
}
