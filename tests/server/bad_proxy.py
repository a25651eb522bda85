"""A TCP proxy that is as bad as a network can be: it drops, delays and truncates.

Each connection gets a fate drawn from a seed: to be refused, to be cut after some bytes (one way or
the other, with a FIN or a reset), to crawl, to hang, or to be left alone. `behave()` turns all of
that off, so that a test can come to its end.
"""

import random
import socket
import struct
import threading
import time

FATES = ("fine", "refused", "cut-request", "cut-answer", "reset", "slow", "hang")


class BadProxy:
    """Listens on a port of 127.0.0.1 and passes connections on to another one."""

    def __init__(self, target_port: int, seed: int = 0) -> None:
        self.target_port = target_port
        self.counts = dict.fromkeys(FATES, 0)
        self._random = random.Random(seed)
        self._is_bad = True
        self._is_open = True
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def behave(self) -> None:
        """From now on every connection is fine; those with another fate are cut."""
        self._is_bad = False
        self._cut_all()

    def close(self) -> None:
        self._is_open = False
        self._listener.close()
        self._cut_all()

    def _cut_all(self) -> None:
        with self._lock:
            for each in self._sockets:
                shut(each)

    def _accept(self) -> None:
        while self._is_open:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            fate = self._random.choice(FATES) if self._is_bad else "fine"
            self.counts[fate] += 1
            limit = self._random.randrange(1, 20_000)
            threading.Thread(target=self._serve, args=(client, fate, limit), daemon=True).start()

    def _serve(self, client: socket.socket, fate: str, limit: int) -> None:
        if fate in ("refused", "reset"):
            if fate == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            return
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port), timeout=5)
            server.settimeout(None)
        except OSError:
            client.close()
            return
        with self._lock:
            self._sockets |= {client, server}
        up = threading.Thread(
            target=self._pass,
            args=(client, server, fate, limit if fate == "cut-request" else None),
            daemon=True,
        )
        up.start()
        self._pass(server, client, fate, limit % 200 if fate == "cut-answer" else None)
        up.join()
        with self._lock:
            self._sockets -= {client, server}
        client.close()
        server.close()

    def _pass(
        self, source: socket.socket, target: socket.socket, fate: str, limit: int | None
    ) -> None:
        """Pass bytes on until one side is done, or `limit` bytes have gone."""
        try:
            while data := source.recv(65536):
                if fate == "slow":
                    time.sleep(0.05)
                while fate == "hang" and self._is_bad:
                    time.sleep(0.05)
                if limit is not None:
                    data, limit = data[:limit], limit - len(data[:limit])
                target.sendall(data)
                if limit == 0:
                    break
        except OSError:
            pass  # the other side is gone, which is what this proxy is for
        shut(source)
        shut(target)


def shut(each: socket.socket) -> None:
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # closed already
