# SPDX-License-Identifier: Apache-2.0
"""A server of HTTP and of S3's language, for tests: with faults, and with the signature worked out once more."""
import datetime
import email.utils
import hashlib
import hmac
import http.server
import re
import threading
import time
import urllib.parse
import xml.sax.saxutils

KEY, SECRET, TOKEN, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "a/token+of=one", "eu-north-1"


def signature(method, path, query, headers, signed, date, region):
    """AWS Signature Version 4: docs.aws.amazon.com, "Create a signed AWS API request"."""
    pairs = sorted(pair if "=" in pair else pair + "=" for pair in query.split("&") if pair)
    canonical = "\n".join([method, path, "&".join(pairs), *(f"{name}:{' '.join(headers[name].split())}" for name in signed), "",
                           ";".join(signed), headers.get("x-amz-content-sha256", hashlib.sha256(b"").hexdigest())])
    scope = f"{date[:8]}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in (date[:8], region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    return hmac.new(key, text.encode(), "sha256").hexdigest()


class Store(http.server.ThreadingHTTPServer):
    """Files by their paths, decoded (`/bucket/key`). `fault(path, first)` may say what to do in place of an answer: a status, "cut" (half of
    the body, then the end), "drop" (nothing), "stall" (until the client goes), or a function of the handler, which may go on with
    `do_GET(faults=False)`."""
    daemon_threads = True
    request_queue_size = 128  # connections come at once

    def __init__(self, files=()):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(files)
        self.changed = {}  # times, in seconds
        self.fault = lambda path, first: None
        self.takes_ranges = self.has_tags = True
        self.signs = False  # answers signed requests alone
        self.token = None  # that goes with the key
        self.page = 1000  # entries of a listing
        self.delay = 0
        self.log = []  # of (path, first, last)
        self.sent = 0  # bytes of files
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, path=""):
        return f"http://127.0.0.1:{self.server_port}{path}"

    def close(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # clients may go when they like


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=(), size=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, message, headers=()):
        self.answer(status, f"<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode(), headers)

    def is_signed(self, parts):
        store = self.server
        given = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=(\w+)/(\d{8})/([\w-]+)/s3/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=(\w+)",
                             self.headers.get("Authorization", ""))
        if not given:
            return self.refuse(403, "AccessDenied", "Access Denied")
        headers = {name.lower(): value for name, value in self.headers.items()}
        date = headers["x-amz-date"]
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        wanted = signature(self.command, parts.path, parts.query, headers, given[4].split(";"), date, given[3])
        if store.token and headers.get("x-amz-security-token") != store.token or store.token and "x-amz-security-token" not in given[4]:
            return self.refuse(403, "InvalidToken", "The provided token is malformed or otherwise invalid.")
        if given[1] != KEY or given[5] != wanted or abs(int(date[9:15]) - int(now[9:15])) > 500 and date[:8] == now[:8]:
            return self.refuse(403, "SignatureDoesNotMatch", "The request signature we calculated does not match")
        if given[3] != REGION:
            return self.refuse(400, "AuthorizationHeaderMalformed", f"expecting '{REGION}'", [("x-amz-bucket-region", REGION)])
        return True

    def list(self, bucket, query):
        store = self.server
        given = {name: values[0] for name, values in urllib.parse.parse_qs(query, keep_blank_values=True).items()}
        start = f"/{bucket}/" + given["prefix"]
        keys, folders = [], []
        for path in sorted(store.files):
            if path.startswith(start):
                rest = path[len(start):]
                key = path[len(bucket) + 2:]
                if "/" in rest:
                    key = key[:len(key) - len(rest) + rest.index("/") + 1]
                    if key not in folders:
                        folders.append(key)
                else:
                    keys.append(key)
        entries = sorted([(key, False) for key in keys] + [(key, True) for key in folders])
        begin = int(given.get("continuation-token", "0+/=")[:-3])
        count = min(store.page, int(given.get("max-keys", 1000)))
        quoted = lambda text: xml.sax.saxutils.escape(urllib.parse.quote(text, safe="/"))
        body = "".join(f"<CommonPrefixes><Prefix>{quoted(key)}</Prefix></CommonPrefixes>" if folder else
                       f"<Contents><Key>{quoted(key)}</Key><Size>1</Size><Owner><ID>x</ID></Owner></Contents>"
                       for key, folder in entries[begin:begin + count])
        if begin + count < len(entries):
            body += f"<IsTruncated>true</IsTruncated><NextContinuationToken>{begin + count}+/=</NextContinuationToken>"
        self.answer(200, (f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>{bucket}'
                          f'</Name><Prefix>{quoted(given["prefix"])}</Prefix>{body}</ListBucketResult>').encode())

    def do_PUT(self):
        self.do_GET()

    def do_POST(self):
        self.do_GET()

    def do_GET(self, faults=True):
        store = self.server
        parts = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(parts.path)
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = (int(span[1]), int(span[2])) if span else (0, None)
        if faults:
            with store.lock:
                store.log.append((path, first, last))
            time.sleep(store.delay)
        fault = store.fault(path, first) if faults else None
        if isinstance(fault, tuple):
            return self.answer(fault[0], b"", fault[1])
        if callable(fault):
            return fault(self)
        if isinstance(fault, int):
            return self.refuse(fault, "Fault", "as it was told")
        if fault == "drop":
            self.close_connection = True
            return self.connection.close()
        if fault == "stall":
            time.sleep(60)
        if store.signs and not self.is_signed(parts):
            return None
        if "list-type=2" in parts.query:
            return self.list(path.strip("/"), parts.query)
        body = store.files.get(path)
        if body is None:
            return self.refuse(404, "NoSuchKey", "The specified key does not exist.")
        if callable(body):
            return body(self)
        headers = [("Last-Modified", email.utils.formatdate(store.changed.get(path, 1e9), usegmt=True))]
        if store.has_tags:
            headers.append(("ETag", f'"{hashlib.md5(body).hexdigest()}"'))
        status, part = 200, body
        if span and store.takes_ranges:
            if first >= len(body):
                return self.answer(416, b"", [("Content-Range", f"bytes */{len(body)}")])
            part = body[first:last + 1]
            status = 206
            headers.append(("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(body)}"))
        if fault == "cut":
            self.answer(status, part[:(len(part) + 1) // 2], headers, size=len(part))
            self.close_connection = True
            return None
        with store.lock:
            store.sent += len(part)
        return self.answer(status, part, headers)
