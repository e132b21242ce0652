# SPDX-License-Identifier: Apache-2.0
"""Containers of Azure Blob Storage as `az://`: by a key, a signature, a token, and nobody."""
import base64
import datetime
import hmac
import json
import os
import time
import unittest
import urllib.parse
import xml.sax.saxutils

import remote
from remote import LISTED, PICTURES, SHARDS
from store import Store
from support import main

ACCOUNT, KEY = "me", base64.b64encode(bytes(range(64))).decode()


def account_signature(key, given):
    """A shared access signature of an account: learn.microsoft.com, "Create an account SAS"."""
    fields = [ACCOUNT, given["sp"], given["ss"], given["srt"], given.get("st", ""), given["se"], given.get("sip", ""), given.get("spr", ""), given["sv"], given.get("ses", ""), ""]
    return base64.b64encode(hmac.new(base64.b64decode(key), "\n".join(fields).encode(), "sha256").digest()).decode()


class Azure(Store):
    """Files are blobs, `/container/blob`; `folders` are blobs that stand for folders."""

    def __init__(self):
        super().__init__()
        self.admits = lambda handler, given: True
        self.folders = set()
        self.page = 5000
        self.asked = []
        self.fault = lambda path, first: self.answer

    def answer(self, handler):
        parts = urllib.parse.urlsplit(handler.path)
        path, given = urllib.parse.unquote(parts.path), dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        self.asked.append((handler.path, dict(handler.headers)))
        if handler.headers.get("x-ms-version", "") < "2020-12-06":
            return handler.refuse(400, "UnsupportedHeader", "too old")
        refusal = self.admits(handler, given)
        if refusal is not True:
            return handler.refuse(*refusal)
        if given.get("comp") == "list":
            return self.list(handler, path.strip("/"), given)
        if path in self.folders:
            return handler.answer(200, b"", [("x-ms-meta-hdi_isfolder", "true"), ("ETag", '"1"')]) if "Range" not in handler.headers else handler.answer(416, b"", [("Content-Range", "bytes */0")])
        if path not in self.files:
            return handler.refuse(404, "BlobNotFound", "The specified blob does not exist.\nRequestId:1\nTime:2")
        return handler.do_GET(faults=False)

    def list(self, handler, container, given):
        assert given["restype"] == "container" and given["delimiter"] == "/"
        start = f"/{container}/"
        names = [path[len(start):] for path in [*self.files, *self.folders] if path.startswith(start + given["prefix"])]
        inner = {}  # by name; a blob and a prefix may have the same one
        for name in names:
            rest = name[len(given["prefix"]):]
            end = len(name) - len(rest) + rest.find("/") + 1
            inner[(name, "Blob") if "/" not in rest else (name[:end], "BlobPrefix")] = True
        entries = sorted(inner)
        begin = int(given.get("marker", "0!+").rstrip("!+"))
        count = min(self.page, int(given.get("maxresults", 5000)))

        def tag(name, kind):
            odd = "%" in name or "\x01" in name
            text = f'<Name Encoded="true">{urllib.parse.quote(name)}</Name>' if odd else f"<Name>{xml.sax.saxutils.escape(name)}</Name>"
            size = len(self.files.get(start + name, b""))
            more = f"<Properties><Etag>0x1</Etag><Content-Length>{size}</Content-Length><BlobType>BlockBlob</BlobType></Properties>" if kind == "Blob" else ""
            return f"<{kind}>{text}{more}</{kind}>"
        body = "".join(tag(*entry) for entry in entries[begin:begin + count])
        more = f"{begin + count}!+" if begin + count < len(entries) else ""
        handler.answer(200, ("\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?>"
                             f'<EnumerationResults ServiceEndpoint="{self.url()}/" ContainerName="{container}"><Prefix>{xml.sax.saxutils.escape(given["prefix"])}</Prefix>'
                             f"<Delimiter>/</Delimiter><Blobs>{body}</Blobs><NextMarker>{more}</NextMarker></EnumerationResults>").encode(), [("Content-Type", "application/xml")])


class OverAzure(remote.RemoteTest):
    def setUp(self):
        super().setUp()
        self.azure = Azure()
        self.addCleanup(self.azure.close)
        self.upload(self.tars(), "/container/shards")
        self.azure.files.update(self.store.files)
        self.more = {"AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_SERVICE_ENDPOINT": self.azure.url() + "/", "AZURE_STORAGE_ANON": "true"}
        self.wanted = self.hashes(SHARDS, shards=os.path.join(self.folder, "shards"))

    def reads(self, shards="az://container/shards"):
        self.assertEqual(self.wanted, self.hashes(SHARDS, shards=shards))

    def says(self, text, shards="az://container/shards"):
        self.assertIn(text, self.failure(SHARDS, shards=shards))

    def connection(self, **parts):
        self.more = {"AZURE_STORAGE_CONNECTION_STRING": ";".join(f"{name}={value}" for name, value in {"AccountName": ACCOUNT, "BlobEndpoint": self.azure.url(), **parts}.items())}

    def by_key(self, handler, given):
        ends = datetime.datetime.strptime(given.get("se", "2001-01-01T00:00:00Z"), "%Y-%m-%dT%H:%M:%S%z")
        left = ends.timestamp() - time.time()
        holds = 3000 < left < 8000 and "r" in given["sp"] and "l" in given["sp"] and given["ss"] == "b" and set(given["srt"]) == set("co")
        return holds and given["sig"] == account_signature(KEY, given) or (403, "AuthenticationFailed", "Server failed to authenticate the request.\nRequestId:1")

    def test_shards_tables_and_folders_are_what_the_disk_has(self):
        listed, pictures = self.listed(), self.classes("a b", "b&+", "c%")
        self.upload(os.path.dirname(listed), "/container/listed")
        self.upload(pictures, "/container/classes")
        self.azure.files.update(self.store.files)
        self.reads()
        self.reads("az://container/shards/train-{000..002}.tar")
        self.assertEqual(self.hashes(LISTED, list=listed), self.hashes(LISTED, "--on-error", "fail", list="az://container/listed/list.csv"))
        wanted = self.hashes(PICTURES, root=pictures)
        self.assertEqual(wanted, self.hashes(PICTURES, root="az://container/classes"))
        self.azure.page = 2
        self.assertEqual(wanted, self.hashes(PICTURES, root="az://container/classes"))
        # As tools for data lakes leave them, and accounts with a hierarchical namespace have them.
        self.azure.page = 1
        self.azure.folders = {"/container/shards", "/container/classes", "/container/classes/a b", "/container/classes/b&+"}
        self.assertEqual(wanted, self.hashes(PICTURES, root="az://container/classes"))
        self.reads()

    def test_the_key_of_the_account_signs(self):
        self.azure.admits = self.by_key
        self.says("cannot read az://container/shards: the store says 403 Forbidden (Server failed to authenticate the request.); no credentials were found: "
                  "AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_TOKEN, or an identity of Azure's gives them")
        for name in ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"):
            self.more[name] = KEY
            self.reads()
            del self.more[name]
        self.assertEqual(len({urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)["sig"][0] for path, _ in self.azure.asked[-10:]}), 1)
        self.connection(AccountKey=KEY)
        self.reads()
        self.connection(AccountKey=base64.b64encode(b"other").decode())
        self.says("the store says 403 Forbidden (Server failed to authenticate the request.); the credentials are those of AZURE_STORAGE_CONNECTION_STRING")
        for wrong in ("abc", "!!!!", "="):
            self.connection(AccountKey=wrong)
            self.says("cannot sign by the key of AZURE_STORAGE_CONNECTION_STRING: it is no key in base64")

    def test_a_shared_access_signature_is_sent_as_it_is(self):
        given = "sv=2022-11-02&sr=c&sp=rl&sig=a%2Bb%3D"
        self.azure.admits = lambda handler, _: given in handler.path and "sig=a%2Bb%3D" in handler.path or (403, "AuthenticationFailed", "no")
        for token in (given, "?" + given):
            self.more["AZURE_STORAGE_SAS_TOKEN"] = token
            self.reads()
        self.connection(SharedAccessSignature=given)
        self.reads()
        self.azure.admits = lambda handler, _: (403, "AuthenticationFailed", "no</Message><AuthenticationErrorDetail>Signature not valid in the specified time frame</AuthenticationErrorDetail><Message>")
        failed = self.failure(SHARDS, shards="az://container/shards")
        self.assertIn("the store says 403 Forbidden (Signature not valid in the specified time frame); the credentials are those of AZURE_STORAGE_CONNECTION_STRING", failed)
        self.assertNotIn("a%2Bb", failed)

    def by_token(self, token):
        self.azure.admits = lambda handler, given: handler.headers.get("Authorization") == "Bearer " + token or (401, "InvalidAuthenticationInfo", "no such token")

    def tokens(self, accepts, answer):
        server = Store()
        self.addCleanup(server.close)
        server.forms = []

        def reply(handler):
            form = dict(urllib.parse.parse_qsl(handler.rfile.read(int(handler.headers.get("Content-Length", 0))).decode() or urllib.parse.urlsplit(handler.path).query))
            server.forms.append(form)
            if not accepts(handler, form):
                return handler.answer(400, b'{"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret.\\r\\nTrace ID: 1"}')
            return handler.answer(200, json.dumps({"token_type": "Bearer", "access_token": "eyJ.abc", **answer}).encode())
        server.fault = lambda path, first: reply
        self.by_token("eyJ.abc")
        return server

    def test_a_token_of_the_environment(self):
        self.by_token("eyJ.abc")
        self.more["AZURE_STORAGE_TOKEN"] = "eyJ.abc\n"
        self.reads()
        self.more["AZURE_STORAGE_TOKEN"] = "old"
        self.says("the store says 401 Unauthorized (no such token); the credentials are those of AZURE_STORAGE_TOKEN")

    def test_the_token_of_an_application(self):
        secret = {"grant_type": "client_credentials", "client_id": "app", "scope": "https://storage.azure.com/.default", "client_secret": "a~b/c"}
        server = self.tokens(lambda handler, form: handler.path == "/tenant/oauth2/v2.0/token" and form == secret, {"expires_in": 3599})
        self.more.update(AZURE_STORAGE_ANON="", AZURE_TENANT_ID="tenant", AZURE_CLIENT_ID="app", AZURE_CLIENT_SECRET="a~b/c", AZURE_AUTHORITY_HOST=server.url() + "/")
        self.reads()
        self.assertEqual(len(server.forms), 1)
        self.more["AZURE_CLIENT_SECRET"] = "wrong"
        self.says("/tenant/oauth2/v2.0/token gives no token: it says 400 Bad Request (AADSTS7000215: Invalid client secret.)")

    def test_the_token_of_a_workload(self):
        path = os.path.join(self.folder, "federated")
        with open(path, "w") as file:
            file.write("eyJ.k8s\n")
        workload = {"grant_type": "client_credentials", "client_id": "app", "scope": "https://storage.azure.com/.default",
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "client_assertion": "eyJ.k8s"}
        server = self.tokens(lambda handler, form: form == workload, {"expires_in": 3599})
        self.more.update(AZURE_STORAGE_ANON="", AZURE_TENANT_ID="tenant", AZURE_CLIENT_ID="app", AZURE_FEDERATED_TOKEN_FILE=path, AZURE_AUTHORITY_HOST=server.url())
        self.reads()
        os.remove(path)
        self.says(f"cannot read {path}, which AZURE_FEDERATED_TOKEN_FILE names")

    def test_the_token_of_the_machine(self):
        asked = {"api-version": "2018-02-01", "resource": "https://storage.azure.com/"}
        server = self.tokens(lambda handler, form: handler.path.startswith("/metadata/identity/oauth2/token?") and handler.headers.get("Metadata") == "true" and form == asked,
                             {"expires_in": "3599", "expires_on": str(int(time.time()) + 3599)})
        self.more.update(AZURE_STORAGE_ANON="", AZURE_POD_IDENTITY_AUTHORITY_HOST=server.url())
        self.reads()
        self.assertEqual(len(server.forms), 1)
        asked["client_id"] = self.more["AZURE_CLIENT_ID"] = "of-mine"
        self.reads()
        # Where the environment says that there is one.
        for more, version, name, header in (({"IDENTITY_ENDPOINT": "/msi/token", "IDENTITY_HEADER": "h"}, "2019-08-01", "client_id", "X-IDENTITY-HEADER"),
                                            ({"MSI_ENDPOINT": "/msi/token", "MSI_SECRET": "h"}, "2017-09-01", "clientid", "secret")):
            form = {"api-version": version, "resource": "https://storage.azure.com/", name: "of-mine"}
            other = self.tokens(lambda handler, given: handler.path.startswith("/msi/token?") and handler.headers.get(header) == "h" and given == form,
                                {"expires_on": str(int(time.time()) + 3599)})
            known = dict(self.more)
            self.more.update({key: other.url(value) if value.startswith("/") else value for key, value in more.items()})
            self.reads()
            self.assertEqual(len(other.forms), 1)
            self.more = known
        # No machine of Azure's: containers that anybody may read.
        server.close()
        self.azure.admits = lambda handler, given: "Authorization" not in handler.headers or (401, "InvalidAuthenticationInfo", "no")
        self.reads()

    def test_what_is_not_there_is_said(self):
        listed = self.listed()
        self.upload(os.path.dirname(listed), "/container/listed")
        self.azure.files.update(self.store.files)
        self.assertIn("cannot read az://container/none.csv: the store says 404 Not Found (The specified blob does not exist.)\n", self.failure(LISTED, list="az://container/none.csv") + "\n")
        self.says("az:///x names no container; a URL is az://CONTAINER/BLOB", "az:///x")
        self.azure.admits = lambda handler, given: (404, "ResourceNotFound", "The specified resource does not exist.")
        self.says("(The specified resource does not exist.); no credentials were found: AZURE_STORAGE_KEY")
        self.azure.admits = lambda handler, given: (409, "PublicAccessNotPermitted", "Public access is not permitted on this storage account.")
        self.says("the store says 409 Conflict (Public access is not permitted on this storage account.); no credentials were found: AZURE_STORAGE_KEY")
        self.more = {"AZURE_STORAGE_ANON": "true"}
        self.says("no storage account is named that has az://container: AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING, names it")

    def test_the_name_of_the_account_is_the_server(self):
        # Nobody has it, and no name server is asked where a proxy is.
        proxy = Store()
        self.addCleanup(proxy.close)
        hosts = []
        proxy.fault = lambda path, first: lambda handler: (hosts.append(handler.path.split("?")[0]), handler.answer(404))
        self.more = {"AZURE_STORAGE_CONNECTION_STRING": "DefaultEndpointsProtocol=http;AccountName=me;EndpointSuffix=core.chinacloudapi.cn", "http_proxy": proxy.url(), "AZURE_STORAGE_ANON": "True"}
        self.says("the store says 404 Not Found")
        self.assertEqual(hosts[0], "http://me.blob.core.chinacloudapi.cn/container/shards")


if __name__ == "__main__":
    main()
