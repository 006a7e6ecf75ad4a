# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy that can lose a reply: the server has run the command, the client never hears of it."""
import socket
import struct
import threading


class LossyProxy:
    """Forwards connections to a port. `lose(b"insert")` drops the connection in place of the reply
    to the next command whose bytes hold that."""

    def __init__(self, port):
        self.upstream = port
        self.lost = 0
        self._needle = None
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, needle):
        with self._lock:
            self._needle = needle

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _must_lose(self, message):
        with self._lock:
            if self._needle is None or self._needle not in message:
                return False
            self._needle = None
            self.lost += 1
            return True

    def _serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.upstream))
        try:
            while True:
                request = self.message(client)
                server.sendall(request)
                reply = self.message(server)
                if self._must_lose(request):
                    return
                client.sendall(reply)
                while struct.unpack_from("<i", reply, 12)[0] == 2013 and reply[16] & 2:
                    reply = self.message(server)
                    client.sendall(reply)
        except (ConnectionError, OSError):
            pass
        finally:
            client.close()
            server.close()

    @staticmethod
    def message(connection):
        """One whole message of the wire protocol."""
        data = b""
        wanted = 4
        while len(data) < wanted:
            part = connection.recv(wanted - len(data))
            if not part:
                raise ConnectionError("closed")
            data += part
            if len(data) == 4:
                wanted = struct.unpack("<i", data)[0]
        return data
