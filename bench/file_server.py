# SPDX-License-Identifier: Apache-2.0
"""A server of files that answers as an object store does: each request after a while, each connection at a bounded rate.

    file_server.py FOLDER LATENCY_MS MEGABYTES_PER_SECOND

Prints its port. GET alone, of whole files and of one range of bytes (RFC 9110), on connections that stay open. A thread
for each connection, and the kernel copies the bytes, so that the machine is the clients'.
"""

import email.utils
import os
import pathlib
import re
import socket
import sys
import threading
import time
import urllib.parse

CHUNK = 256 << 10


def send_file(connection, file, offset, count, rate):
    began, sent = time.monotonic(), 0
    while sent < count:
        sent += os.sendfile(connection.fileno(), file, offset + sent, min(CHUNK, count - sent))
        ahead = sent / rate - (time.monotonic() - began)
        if ahead > 0:
            time.sleep(ahead)


def answer(connection, head, folder, latency, rate):
    request, *lines = head.decode("latin-1").split("\r\n")
    path = folder / urllib.parse.unquote(urllib.parse.urlsplit(request.split(" ")[1]).path).lstrip("/")
    time.sleep(latency)
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    try:
        found = os.fstat(file)
        size, first, status, more = found.st_size, 0, "200 OK", ""
        count = size
        for line in lines:
            if span := re.fullmatch(r"(?i)range: *bytes=(\d+)-(\d*)", line):
                first = int(span[1])
                count = max(min(int(span[2] or size - 1), size - 1) - first + 1, 0)
                status, more = "206 Partial Content", f"Content-Range: bytes {first}-{first + count - 1}/{size}\r\n"
        connection.sendall((f"HTTP/1.1 {status}\r\nContent-Length: {count}\r\nAccept-Ranges: bytes\r\nETag: \"{found.st_mtime_ns:x}\"\r\n"
                            f"Last-Modified: {email.utils.formatdate(found.st_mtime, usegmt=True)}\r\n{more}\r\n").encode())
        send_file(connection, file, first, count, rate)
    finally:
        os.close(file)


def serve(connection, *how):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    buffered = b""
    with connection:
        try:
            while True:
                while b"\r\n\r\n" not in buffered:
                    more = connection.recv(65536)
                    if not more:
                        return
                    buffered += more
                head, buffered = buffered.split(b"\r\n\r\n", 1)
                answer(connection, head, *how)
        except OSError:
            pass  # clients may go when they like


def main():
    folder, latency, rate = pathlib.Path(sys.argv[1]), float(sys.argv[2]) / 1e3, float(sys.argv[3]) * 1e6
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, folder, latency, rate), daemon=True).start()


if __name__ == "__main__":
    main()
