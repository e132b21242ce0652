# SPDX-License-Identifier: Apache-2.0
"""Who asks for files elsewhere: headers by URL, repositories of the Hugging Face Hub, Google's buckets."""
import base64
import hashlib
import json
import os
import re
import subprocess
import threading
import time
import unittest
import urllib.parse

import remote
from remote import LISTED, PICTURES, SHARDS
from store import Store
from support import main


class HeadersByUrl(remote.RemoteTest):
    def environment(self):
        return {**super().environment(), "PENSTOCK_HTTP_HEADERS": os.path.join(self.folder, "headers")}

    def rules(self, *lines):
        with open(os.path.join(self.folder, "headers"), "w") as file:
            file.writelines(line + "\n" for line in lines)

    def wants(self, store, name, value):
        """The server has its files for those who send a header, and keeps what it was sent."""
        store.seen = []

        def fault(path, first):
            def answer(handler):
                store.seen.append({key.lower(): said for key, said in handler.headers.items()})
                if handler.headers.get(name) != value:
                    return handler.refuse(401, "Unauthorized", "no")
                return handler.do_GET(faults=False)
            return answer
        store.fault = fault

    def test_tokens_go_to_the_urls_that_they_are_for(self):
        listed = self.listed()
        url = self.store.url("/listed/list.csv")
        self.wants(self.store, "Authorization", "Bearer abc")
        self.rules("# tokens", "", f"{self.store.url()} Authorization: Bearer wrong", f"{self.store.url('/listed/')}\tauthorization: Bearer abc",
                   f"{self.store.url('/list')} Authorization: Bearer other", "https://elsewhere.example Authorization: Bearer far")
        remote = self.hashes(LISTED, list=url)
        self.wants(self.store, "Authorization", None)
        self.rules("# none")
        self.assertEqual(remote, self.hashes(LISTED, list=listed))

    def test_a_server_that_it_is_redirected_to_gets_no_headers_of_the_first(self):
        listed = self.listed()
        other = Store(self.store.files)
        self.addCleanup(other.close)
        quoted = lambda path: urllib.parse.quote(path)
        self.store.files = {path: lambda handler, to=other.url(quoted(path)): handler.answer(302, b"", [("Location", to)]) for path in other.files}
        self.wants(self.store, "X-Key", "mine")
        self.wants(other, "X-Key", None)
        self.rules(f"{self.store.url()} X-Key: mine")
        self.assertEqual(self.hashes(LISTED, list=self.store.url("/listed/list.csv")), self.hashes(LISTED, list=listed))
        self.assertGreater(len(other.seen), 20)
        self.wants(other, "X-Key", "yours")
        self.rules(f"{self.store.url()} X-Key: mine", f"{other.url()} X-Key: yours")
        self.assertEqual(self.hashes(LISTED, list=self.store.url("/listed/list.csv")), self.hashes(LISTED, list=listed))

    def test_passwords_of_urls_stay_with_their_server(self):
        listed = self.listed()
        other = Store(self.store.files)
        self.addCleanup(other.close)
        lists = {"/listed/list.csv": "/moved.csv", "/moved.csv": other.url("/listed/list.csv")}
        mine = "Basic " + base64.b64encode(b"me:secret").decode()
        self.wants(self.store, "Authorization", mine)
        self.wants(other, "Authorization", None)
        known = self.store.fault
        self.store.fault = lambda path, first: (lambda handler: handler.answer(302, b"", [("Location", lists[path])]) if handler.headers.get("Authorization") == mine
                                                else handler.answer(401)) if path in lists else known(path, first)
        self.rules("# none")
        self.assertEqual(self.hashes(LISTED, list=self.store.url("/listed/list.csv").replace("http://", "http://me:secret@")), self.hashes(LISTED, list=listed))
        self.assertEqual(len(other.seen), 1)

    def test_a_token_that_ended_is_read_again(self):
        listed = self.listed()
        self.rules(f"{self.store.url()} Authorization: Bearer old")
        self.wants(self.store, "Authorization", "Bearer old")
        first = self.store.fault

        def fault(path, begin):
            if path.endswith("13.jpg"):
                self.rules(f"{self.store.url()} Authorization: Bearer new")
                self.wants(self.store, "Authorization", "Bearer new")
                return self.store.fault(path, begin)
            return first(path, begin)
        self.store.fault = fault
        text = LISTED.replace("order shuffled", "order sequential")
        self.assertEqual(self.hashes(text, "--on-error", "fail", list=self.store.url("/listed/list.csv")), self.hashes(text, list=listed))

    def test_what_is_wrong_with_the_file_is_said(self):
        self.listed()
        url, path = self.store.url("/listed/list.csv"), os.path.join(self.folder, "headers")
        for line, reason in (("Authorization: Bearer abc", "line 2 has no URL"), ("s3://bucket X: y", "line 2 has no URL"), (self.store.url(), "line 2 has no header"),
                             (self.store.url() + " Bearer abc", "line 2 has no header"), (self.store.url() + " Authorization:", "line 2 has no header")):
            self.rules("# tokens", line)
            self.assertIn(f"cannot take headers of PENSTOCK_HTTP_HEADERS, {path}: {reason}; a line is `https://HOST/FOLDER NAME: VALUE`", self.failure(LISTED, list=url))
        os.remove(path)
        self.assertIn(f"cannot take headers of PENSTOCK_HTTP_HEADERS, {path}: cannot read", self.failure(LISTED, list=url))
        self.assertEqual(self.store.log, [])


class Hub(Store):
    """The Hub: small files from itself, large ones from another server at URLs that end."""
    TOKEN = "hf_abc"

    def __init__(self, files, repository="datasets/me/pets", revision="main"):
        super().__init__()
        self.content = files  # by the path in the repository
        self.far = Store()
        self.begin = f"/{repository}/resolve/{revision}/"
        self.tree = f"/api/{repository}/tree/{revision}"
        self.wants_token = self.links = True
        self.page = 2
        self.asked, self.signed, self.ended = [], 0, set()
        self.fault = lambda path, first: self.answer
        self.far.fault = lambda path, first: self.answer_far

    def close(self):
        self.far.close()
        super().close()

    def answer(self, handler):
        self.asked.append(handler.path)
        parts = urllib.parse.urlsplit(handler.path)
        path = urllib.parse.unquote(parts.path)
        if self.wants_token and handler.headers.get("Authorization") != "Bearer " + self.TOKEN:
            return handler.answer(401, b"", [("X-Error-Message", "Invalid username or password.")])
        if path.startswith(self.tree):
            return self.list(handler, path[len(self.tree):].strip("/"), parts.query)
        name = path[len(self.begin):]
        if not path.startswith(self.begin) or name not in self.content:
            return handler.answer(404, b"", [("X-Error-Message", "Entry not found")])
        if not name.endswith(".tar"):
            self.files[path] = self.content[name]
            return handler.do_GET(faults=False)
        self.signed += 1
        tag = [("X-Linked-ETag", f'"{hashlib.md5(self.content[name]).hexdigest()}"')] if self.links else []
        return handler.answer(302, b"", [("Location", self.far.url(f"/blob/{self.signed}?sign={urllib.parse.quote(name)}")), *tag])

    def answer_far(self, handler):
        assert "Authorization" not in handler.headers
        parts = urllib.parse.urlsplit(handler.path)
        if parts.path in self.ended:
            return handler.refuse(403, "AccessDenied", "Request has expired")
        self.far.files[parts.path] = self.content[urllib.parse.unquote(parts.query[5:])]
        self.far.has_tags = False
        return handler.do_GET(faults=False)

    def list(self, handler, folder, query):
        begin = folder + "/" if folder else ""
        inner = {name[len(begin):].split("/")[0]: "/" in name[len(begin):] for name in self.content if name.startswith(begin)}
        if not inner:
            return handler.answer(404, b"", [("X-Error-Message", "Entry not found")])
        names = sorted(inner)
        at = int(dict(urllib.parse.parse_qsl(query)).get("cursor", 0))
        body = [{"type": "directory" if inner[name] else "file", "oid": "x", "size": 0, "path": begin + name, "lfs": {"oid": "y"}} for name in names[at:at + self.page]]
        more = [("Link", f'<{self.url(urllib.parse.urlsplit(handler.path).path)}?expand=false&cursor={at + self.page}>; rel="next"')] if at + self.page < len(names) else []
        return handler.answer(200, json.dumps(body).encode(), more)


class OverHub(remote.RemoteTest):
    def hub(self, *folders, **more):
        content = {}
        for folder, to in folders:
            for path, _, names in os.walk(folder):
                for name in names:
                    whole = os.path.join(path, name)
                    with open(whole, "rb") as file:
                        content[to + os.path.relpath(whole, folder)] = file.read()
        hub = Hub(content, **more)
        self.addCleanup(hub.close)
        self.more = {"HF_ENDPOINT": hub.url() + "/", "HF_TOKEN": hub.TOKEN + "\n"}
        return hub

    def test_shards_tables_and_folders_are_what_the_disk_has(self):
        shards, listed, pictures = self.tars(), self.listed(), self.classes("a b", "b", "c%")
        hub = self.hub((shards, "data/train/"), (os.path.dirname(listed), "listed/"), (pictures, "classes/"))
        wanted = self.hashes(SHARDS, shards=shards)
        for path in ("data/train", "data/train/train-{000..002}.tar"):
            self.assertEqual(wanted, self.hashes(SHARDS, shards="hf://datasets/me/pets/" + path))
        self.assertEqual(self.hashes(LISTED, list=listed), self.hashes(LISTED, "--on-error", "fail", list="hf://datasets/me/pets/listed/list.csv"))
        self.assertEqual(self.hashes(PICTURES, root=pictures), self.hashes(PICTURES, root="hf://datasets/me/pets/classes"))
        self.assertTrue(any("cursor=2" in path for path in hub.asked))

    def test_revisions_and_other_repositories(self):
        shards = self.tars(count=1)
        wanted = self.hashes(SHARDS, shards=shards)
        for url, repository, revision in (("hf://datasets/me/pets@v1.0", "datasets/me/pets", "v1.0"), ("hf://datasets/me/pets@a%2Fb", "datasets/me/pets", "a/b"),
                                          ("hf://datasets/me/pets@refs/convert/parquet", "datasets/me/pets", "refs/convert/parquet"),
                                          ("hf://spaces/me/pets", "spaces/me/pets", "main"), ("hf://me/pets", "me/pets", "main")):
            hub = self.hub((shards, ""), repository=repository, revision=revision)
            if url == "hf://me/pets":
                hub.tree = "/api/models/me/pets/tree/main"
            self.assertEqual(wanted, self.hashes(SHARDS, shards=url), url)
            slashes = revision.replace("/", "%2F")
            self.assertTrue(all(f"/resolve/{slashes}/" in path or f"/tree/{slashes}" in path for path in hub.asked), hub.asked)

    def test_a_signed_url_is_asked_for_once_and_again_when_it_ends(self):
        shards = self.tars()
        hub = self.hub((shards, ""))
        wanted = self.hashes(SHARDS, shards=shards)
        self.assertEqual(wanted, self.hashes(SHARDS, shards="hf://datasets/me/pets"))
        self.assertEqual(hub.signed, 3)
        hub.signed = 0
        far = hub.answer_far

        used = {}

        def some(handler):
            path = urllib.parse.urlsplit(handler.path).path
            used[path] = used.get(path, 0) + 1
            if used[path] == 4:
                hub.ended.add(path)
            return far(handler)
        hub.answer_far = some
        self.assertEqual(wanted, self.hashes(SHARDS, shards="hf://datasets/me/pets"))
        self.assertGreater(hub.signed, 3)

    def test_it_waits_as_long_as_the_hub_says(self):
        hub = self.hub((self.tars(count=1), ""))
        asked, answer = [], hub.answer

        def limited(handler):
            if "/resolve/" in handler.path and len(asked) < 2:
                asked.append(time.monotonic())
                if len(asked) == 1:
                    return handler.answer(429, b"", [("RateLimit", '"resolvers";r=0;t=2')])
            return answer(handler)
        hub.answer = limited
        self.assertEqual(len(self.hashes(SHARDS, shards="hf://datasets/me/pets/train-000.tar")), 10)
        self.assertGreater(asked[1] - asked[0], 0.9)

    def test_a_file_of_another_commit_is_noticed(self):
        hub = self.hub((self.tars(), ""))
        far, once = hub.answer_far, threading.Lock()

        def other(handler):
            if len(hub.far.log) >= 12 and once.acquire(blocking=False):  # the branch moved on, and the URLs ended
                hub.content = {name: body.replace(b"\xff\xd9", b"\xff\xd8") for name, body in hub.content.items()}  # of the same sizes
                hub.ended = {f"/blob/{i}" for i in range(hub.signed + 1)}
            return far(handler)
        hub.answer_far = other
        self.assertRegex(self.failure(SHARDS, shards="hf://datasets/me/pets"), "changed (while it was read|since this run began)")

    def test_tokens_come_from_where_the_tools_leave_them(self):
        shards = self.tars(count=1)
        hub = self.hub((shards, ""))
        cache = self.environment()["XDG_CACHE_HOME"]
        home = os.path.join(self.folder, "home", ".cache/huggingface/token")
        places = {os.path.join(cache, "huggingface/token"): {}, home: {"XDG_CACHE_HOME": ""}, os.path.join(self.folder, "hub/token"): {"HF_HOME": os.path.join(self.folder, "hub")},
                  os.path.join(self.folder, "mine"): {"HF_TOKEN_PATH": os.path.join(self.folder, "mine")}}
        for path, more in places.items():
            self.more = {"HF_ENDPOINT": hub.url(), **more}
            said = self.failure(SHARDS, shards="hf://datasets/me/pets")
            self.assertIn("cannot read hf://datasets/me/pets/: the Hub says 401 Unauthorized (Invalid username or password.); no token was found: HF_TOKEN, or `hf auth login`, gives one", said)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(hub.TOKEN + "\n")
            self.assertEqual(len(self.hashes(SHARDS, shards="hf://datasets/me/pets")), 10)
            os.remove(path)
        hub.wants_token = False
        self.more = {"HF_ENDPOINT": hub.url()}
        self.assertEqual(len(self.hashes(SHARDS, shards="hf://datasets/me/pets")), 10)

    def test_what_is_not_there_is_said(self):
        listed = self.listed()
        hub = self.hub((os.path.dirname(listed), ""))
        self.assertIn("cannot read hf://datasets/me/pets/none.csv: the Hub says 404 Not Found (Entry not found)", self.failure(LISTED, list="hf://datasets/me/pets/none.csv"))
        for url in ("hf://datasets/pets", "hf:///x.csv", "hf://datasets/me/pets@/x.csv"):
            self.assertIn("names no repository; a URL of the Hub is hf://datasets/OWNER/REPOSITORY/PATH, with a branch, tag or commit as REPOSITORY@REVISION", self.failure(LISTED, list=url))
        del hub.content["4.jpg"]
        done = self.run_json("run", self.write(LISTED), "--set", "list=hf://datasets/me/pets/list.csv")
        self.assertEqual([bad["reason"] for bad in done["bad_samples"]], ["cannot read hf://datasets/me/pets/4.jpg: the Hub says 404 Not Found (Entry not found)"])
        # Who asks is nobody's bad file.
        self.more["HF_TOKEN"] = "wrong"
        self.assertIn("the Hub says 401", self.failure(LISTED, list="hf://datasets/me/pets/list.csv"))


class OverGoogle(remote.RemoteTest):
    """Buckets as `gs://`, whose listings are as S3's."""

    def setUp(self):
        super().setUp()
        self.upload(self.tars(), "/bucket/shards")
        self.more = {"STORAGE_EMULATOR_HOST": self.store.url() + "/", "NO_GCE_CHECK": "true"}
        self.wanted = self.hashes(SHARDS, shards=os.path.join(self.folder, "shards"))
        self.token = None
        self.store.fault = lambda path, first: self.answer

    def answer(self, handler):
        if handler.headers.get("Authorization") != (self.token and "Bearer " + self.token):
            return handler.answer(401, b"<Error><Code>AuthenticationRequired</Code><Message>Authentication required.</Message></Error>")
        return handler.do_GET(faults=False)

    def tokens(self, accepts):
        """A server of tokens; `accepts` looks at a request's form."""
        server = Store()
        self.addCleanup(server.close)
        server.forms = []

        def answer(handler):
            form = dict(urllib.parse.parse_qsl(handler.rfile.read(int(handler.headers.get("Content-Length", 0))).decode()))
            server.forms.append(form)
            if not accepts(handler, form):
                return handler.answer(400, b'{"error": "invalid_grant",\n "error_description": "Token has been revoked."}')
            return handler.answer(200, json.dumps({"access_token": self.token, "expires_in": 3599, "token_type": "Bearer"}, indent=2).encode())
        server.fault = lambda path, first: answer
        return server

    def credentials(self, **texts):
        path = os.path.join(self.folder, "credentials.json")
        with open(path, "w") as file:
            json.dump(texts, file, indent=2)
        self.more["GOOGLE_APPLICATION_CREDENTIALS"] = path
        return path

    def test_public_buckets_need_no_credentials(self):
        for shards in ("gs://bucket/shards", "gs://bucket/shards/train-{000..002}.tar"):
            self.assertEqual(self.wanted, self.hashes(SHARDS, shards=shards))
        self.token = "of-somebody"
        self.assertIn("cannot read gs://bucket/shards: the store says 401 Unauthorized (Authentication required.); no credentials were found: GOOGLE_APPLICATION_CREDENTIALS, or "
                      "`gcloud auth application-default login`, gives them", self.failure(SHARDS, shards="gs://bucket/shards"))
        self.assertIn("gs:///x names no bucket; a URL is gs://BUCKET/KEY", self.failure(SHARDS, shards="gs:///x"))

    def test_a_token_of_the_environment(self):
        self.token = self.more["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "ya29.abc"
        self.assertEqual(self.wanted, self.hashes(SHARDS, shards="gs://bucket/shards"))
        self.more["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "ended"
        self.assertIn("the store says 401 Unauthorized (Authentication required.); the credentials are those of CLOUDSDK_AUTH_ACCESS_TOKEN", self.failure(SHARDS, shards="gs://bucket/shards"))

    def test_the_token_of_a_user(self):
        self.token = "ya29.user"
        server = self.tokens(lambda handler, form: handler.command == "POST" and form == {"grant_type": "refresh_token", "client_id": "id", "client_secret": "a/b+c", "refresh_token": "1//r"})
        user = {"type": "authorized_user", "client_id": "id", "client_secret": "a/b+c", "refresh_token": "1//r", "token_uri": server.url("/token")}
        path = self.credentials(**user)
        self.assertEqual(self.wanted, self.hashes(SHARDS, shards="gs://bucket/shards"))
        self.assertEqual(len(server.forms), 1)
        # Where gcloud leaves it.
        home = os.path.join(self.folder, "home/.config/gcloud")
        os.makedirs(home)
        os.rename(path, os.path.join(home, "application_default_credentials.json"))
        self.assertIn("which GOOGLE_APPLICATION_CREDENTIALS names", self.failure(SHARDS, shards="gs://bucket/shards"))
        del self.more["GOOGLE_APPLICATION_CREDENTIALS"]
        self.assertEqual(self.wanted, self.hashes(SHARDS, shards="gs://bucket/shards"))
        self.credentials(**{**user, "refresh_token": "old"})
        self.assertIn("/token gives no token: it says 400 Bad Request (Token has been revoked.)", self.failure(SHARDS, shards="gs://bucket/shards"))

    def test_the_token_of_a_service_account_is_signed_for(self):
        self.token = "ya29.service"
        key = os.path.join(self.folder, "key.pem")
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", key + ".pub"], check=True)
        decoded = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

        def accepts(handler, form):
            head, claims, signature = form["assertion"].split(".")
            for name, content in (("text", f"{head}.{claims}".encode()), ("signature", decoded(signature))):
                with open(os.path.join(self.folder, name), "wb") as file:
                    file.write(content)
            verified = subprocess.run(["openssl", "dgst", "-sha256", "-verify", key + ".pub", "-signature", os.path.join(self.folder, "signature"), os.path.join(self.folder, "text")],
                                      capture_output=True).returncode == 0
            claims = json.loads(decoded(claims))
            return (verified and form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" and json.loads(decoded(head)) == {"alg": "RS256", "typ": "JWT", "kid": "k\"1"}
                    and claims["iss"] == "reader@project" and claims["aud"] == server.url("/token") and claims["scope"].endswith("devstorage.read_only")
                    and abs(claims["iat"] - time.time()) < 60 and claims["exp"] - claims["iat"] == 3600)
        server = self.tokens(accepts)
        with open(key) as file:
            account = {"type": "service_account", "client_email": "reader@project", "private_key_id": "k\"1", "private_key": file.read(), "token_uri": server.url("/token")}
        path = self.credentials(**account)
        self.assertEqual(self.wanted, self.hashes(SHARDS, shards="gs://bucket/shards"))
        for changed, reason in (({"private_key": "none"}, f"cannot sign by the key of {path}: it is no private key in PEM"),
                                ({"type": "external_account"}, f"{path} is of the type `external_account`; those of users and service accounts are read")):
            self.credentials(**{**account, **changed})
            self.assertIn(reason, self.failure(SHARDS, shards="gs://bucket/shards"))
        with open(path, "w") as file:
            file.write("[]")
        self.assertIn(f"{path} has no credentials: no JSON", self.failure(SHARDS, shards="gs://bucket/shards"))

    def test_the_token_of_the_machine(self):
        self.token = "ya29.machine"
        server = self.tokens(lambda handler, form: handler.headers.get("Metadata-Flavor") == "Google" and handler.path.endswith("/service-accounts/default/token"))
        self.more.update(NO_GCE_CHECK="false", GCE_METADATA_HOST=server.url()[7:])
        self.assertEqual(self.wanted, self.hashes(SHARDS, shards="gs://bucket/shards"))
        self.assertEqual(len(server.forms), 1)
        server.close()
        self.token = None
        self.assertEqual(self.wanted, self.hashes(SHARDS, shards="gs://bucket/shards"))


if __name__ == "__main__":
    main()
