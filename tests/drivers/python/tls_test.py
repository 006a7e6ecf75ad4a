# SPDX-License-Identifier: Apache-2.0
"""TLS, logins by certificate and authentication restrictions through pymongo and bare sockets."""
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

import bson
import pymongo
from pymongo.errors import ConnectionFailure, OperationFailure

import counted
from certificates import Authority
from server import QUIRE, Server

FOLDER = tempfile.mkdtemp()
CA = Authority(os.path.join(FOLDER, "ours"))
FOREIGN = Authority(os.path.join(FOLDER, "theirs"), "Foreign Authority")
SERVER = CA.issue("/O=Acme/OU=Servers/CN=localhost")
ANN = CA.issue("/O=Acme/OU=People/CN=ann")
ANN_SUBJECT = "CN=ann,OU=People,O=Acme"


def tearDownModule():
    shutil.rmtree(FOLDER)


def serve(*extra, mode="requireTLS", certificate=SERVER):
    return Server(None, ["--tlsMode", mode, "--tlsCertificateKeyFile", certificate, "--tlsCAFile", CA.file, *extra])


def client(server, certificate=None, tls=True, ca=CA.file, host="127.0.0.1", **options):
    settings = {"serverSelectionTimeoutMS": 3000, "connectTimeoutMS": 5000, "directConnection": True, **options}
    if tls:
        settings.update(tls=True, tlsCAFile=ca)
    if certificate:
        settings["tlsCertificateKeyFile"] = certificate
    return pymongo.MongoClient(f"mongodb://{host}:{server.port}", **settings)


def ping(*arguments, **options):
    with client(*arguments, **options) as connected:
        return connected.admin.command("ping")["ok"]


def message(command):
    """An OP_MSG."""
    body = b"\0\0\0\0\0" + bson.encode(command)
    return (16 + len(body)).to_bytes(4, "little") + b"\1\0\0\0" + bytes(4) + (2013).to_bytes(4, "little") + body


def reply(stream):
    """The document of the next reply; None when the other side is gone."""
    def exactly(size):
        data = b""
        while len(data) < size:
            more = stream.recv(size - len(data))
            if not more:
                return None
            data += more
        return data
    header = exactly(16)
    if header is None:
        return None
    body = exactly(int.from_bytes(header[:4], "little") - 16)
    return bson.decode(body[5:])


def handshake(port, certificate=ANN, newest=None):
    """A socket with TLS on; raises ssl.SSLError or OSError."""
    context = ssl.create_default_context(cafile=CA.file)
    if certificate:
        context.load_cert_chain(certificate)
    if newest:
        context.maximum_version = newest
    plain = socket.create_connection(("127.0.0.1", port), timeout=30)
    return context.wrap_socket(plain, server_hostname="localhost")


def served_name(stream):
    return dict(pair[0] for pair in stream.getpeercert()["subject"])["commonName"]


class Case(unittest.TestCase):
    def refused(self, code, function, *arguments, **options):
        with self.assertRaises(OperationFailure) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return str(caught.exception)

    def shut_out(self, *arguments, **options):
        """No connection comes about."""
        with self.assertRaises(ConnectionFailure):
            ping(*arguments, **options, serverSelectionTimeoutMS=700)

    def logged(self, server, text):
        """Waits until the log has the text."""
        for _ in range(600):
            if text in server.output():
                return
            time.sleep(0.05)
        self.fail(f"{text!r} is not in the log:\n{server.output()}")


class Modes(Case):
    def test_required(self):
        with serve() as server:
            self.assertTrue(ping(server, ANN))
            self.assertTrue(ping(server, ANN, host="localhost"))
            self.shut_out(server, tls=False)
            self.logged(server, "only allow SSL connections")

    def test_both_on_one_port(self):
        for mode in ("allowTLS", "preferTLS"):
            with serve(mode=mode) as server:
                self.assertTrue(ping(server, ANN))
                self.assertTrue(ping(server, tls=False))
                with client(server, ANN) as inside:
                    status = inside.admin.command("serverStatus")["transportSecurity"]
                    self.assertGreater(status["1.3"], 0)
                    self.assertEqual([*status], ["1.0", "1.1", "1.2", "1.3", "unknown"])

    def test_hello_of_tls_on_a_plain_port_is_closed_at_once(self):
        with Server(None) as server:
            with self.assertRaises((ssl.SSLError, OSError)):
                handshake(server.port, None)
            self.logged(server, "TLS is not enabled")
            self.assertTrue(ping(server, tls=False))

    def test_options_that_do_not_go_together(self):
        broken = os.path.join(FOLDER, "broken.pem")
        with open(broken, "w") as file:
            file.write("broken")
        expired = CA.issue("/CN=localhost", days=(-3, -2))
        for extra, text in (
                (["--tlsMode", "requireSSL"], "unsupported value for tlsMode"),
                (["--tlsMode", "requireTLS"], "tlsCertificateKeyFile"),
                (["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", SERVER], "tlsCAFile"),
                (["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", broken, "--tlsCAFile", CA.file],
                 "cannot read the certificate"),
                (["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", CA.file, "--tlsCAFile", CA.file],
                 "the file holds none"),
                (["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", expired, "--tlsCAFile", CA.file],
                 "expired or not yet valid"),
                (["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", SERVER, "--tlsCAFile", broken],
                 "authorities"),
                (["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", SERVER, "--tlsCAFile", CA.file,
                  "--tlsDisabledProtocols", "SSL3"], "Unrecognized disabledProtocols"),
                (["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", SERVER, "--tlsCAFile", CA.file,
                  "--setParameter", "opensslCipherConfig=NONSENSE"], "opensslCipherConfig"),
                (["--tlsCAFile", CA.file], "need to enable TLS"),
                (["--sslMode", "requireSSL"], "use --tlsMode")):
            done = subprocess.run([QUIRE, "serve", "--ephemeral", "--port", "0", "--nounixsocket", *extra],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            self.assertEqual(done.returncode, 2, extra)
            self.assertIn(text, done.stdout.decode())

    def test_configuration_file_and_secrets(self):
        secret = CA.issue("/CN=localhost", password="open sesame")
        config = os.path.join(FOLDER, "config.yaml")
        with open(config, "w") as file:
            file.write(f"net:\n  tls:\n    mode: requireTLS\n    certificateKeyFile: {secret}\n"
                       f"    certificateKeyFilePassword: open sesame\n    CAFile: {CA.file}\n"
                       "    allowConnectionsWithoutCertificates: true\n    disabledProtocols: TLS1_0,TLS1_1,TLS1_3\n")
        with Server(None, ["--config", config]) as server:
            with client(server) as inside:
                options = inside.admin.command("getCmdLineOpts")
                self.assertEqual(options["parsed"]["net"]["tls"]["mode"], "requireTLS")
                self.assertNotIn("sesame", str(options))
            with handshake(server.port, None) as stream:
                self.assertEqual(stream.version(), "TLSv1.2")
        with serve("--tlsCertificateKeyFilePassword", "open sesame", certificate=secret) as server:
            with client(server, ANN) as inside:
                self.assertNotIn("sesame", str(inside.admin.command("getCmdLineOpts")))
            self.assertNotIn("sesame", server.output())


class Certificates(Case):
    def test_of_clients(self):
        foreign = FOREIGN.issue("/O=Acme/OU=People/CN=ann")
        expired = CA.issue("/O=Acme/OU=People/CN=ann", days=(-3, -2))
        early = CA.issue("/O=Acme/OU=People/CN=ann", days=(1, 2))
        with serve() as server:
            self.assertTrue(ping(server, ANN))
            for bad in (None, foreign, expired, early):
                self.shut_out(server, bad)
            self.logged(server, "certificate has expired")
        with serve("--tlsAllowConnectionsWithoutCertificates") as server:
            self.assertTrue(ping(server))
            self.assertTrue(ping(server, ANN))
            for bad in (foreign, expired):
                self.shut_out(server, bad)
        with serve("--tlsAllowInvalidCertificates") as server:
            for certificate in (ANN, foreign, expired):
                self.assertTrue(ping(server, certificate))
            self.shut_out(server)

    def test_of_the_server(self):
        elsewhere = CA.issue("/CN=elsewhere", names="DNS:elsewhere.example")
        with serve(certificate=elsewhere) as server:
            self.shut_out(server, ANN)
            self.assertTrue(ping(server, ANN, tlsAllowInvalidHostnames=True))
        with serve("--tlsAllowConnectionsWithoutCertificates") as server:
            self.shut_out(server, ca=FOREIGN.file)
            self.assertTrue(ping(server, ca=FOREIGN.file, tlsAllowInvalidCertificates=True))

    def test_revoked(self):
        lost = CA.issue("/O=Acme/OU=People/CN=lost")
        with serve("--tlsCRLFile", CA.revoke(lost)) as server:
            self.assertTrue(ping(server, ANN))
            self.shut_out(server, lost)
            self.logged(server, "certificate revoked")
        with serve() as server:
            self.assertTrue(ping(server, lost))

    def test_protocols_and_ciphers(self):
        with serve("--tlsDisabledProtocols", "TLS1_0,TLS1_1,TLS1_2") as server:
            with handshake(server.port) as stream:
                self.assertEqual(stream.version(), "TLSv1.3")
            with self.assertRaises((ssl.SSLError, OSError)):
                handshake(server.port, newest=ssl.TLSVersion.TLSv1_2)
        with serve("--tlsDisabledProtocols", "TLS1_3", "--setParameter",
                   "opensslCipherConfig=ECDHE-ECDSA-CHACHA20-POLY1305") as server:
            with handshake(server.port) as stream:
                self.assertEqual(stream.version(), "TLSv1.2")
                self.assertEqual(stream.cipher()[0], "ECDHE-ECDSA-CHACHA20-POLY1305")
            with client(server, ANN) as inside:
                self.assertEqual(
                    inside.admin.command("getParameter", opensslCipherConfig=1)["opensslCipherConfig"],
                    "ECDHE-ECDSA-CHACHA20-POLY1305")
                self.assertGreater(inside.admin.command("serverStatus")["transportSecurity"]["1.2"], 0)
        with serve("--setParameter", "opensslCipherSuiteConfig=TLS_CHACHA20_POLY1305_SHA256") as server:
            with handshake(server.port) as stream:
                self.assertEqual(stream.cipher()[0], "TLS_CHACHA20_POLY1305_SHA256")


class Traffic(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = serve()
        cls.inside = client(cls.server, ANN)

    @classmethod
    def tearDownClass(cls):
        cls.inside.close()
        cls.server.stop()

    def test_large_documents_and_many(self):
        things = self.inside.tls.things
        things.drop()
        things.insert_many([{"_id": i, "text": "x" * 100_000} for i in range(300)])
        self.assertEqual(sum(len(d["text"]) for d in things.find()), 30_000_000)
        things.insert_one({"_id": "large", "text": "y" * 15_000_000})
        self.assertEqual(len(things.find_one({"_id": "large"})["text"]), 15_000_000)

    def test_compression_and_change_streams(self):
        with client(self.server, ANN, compressors="zlib") as compressed:
            compressed.tls.packed.insert_one({"text": "z" * 100_000})
            self.assertEqual(len(compressed.tls.packed.find_one()["text"]), 100_000)
        with self.inside.tls.watched.watch() as stream:
            self.inside.tls.watched.insert_one({"_id": 1})
            self.assertEqual(next(stream)["documentKey"], {"_id": 1})

    def test_a_message_in_small_records(self):
        with handshake(self.server.port) as stream:
            question = message({"ping": 1, "$db": "admin"})
            for byte in question:
                stream.sendall(bytes([byte]))
            self.assertEqual(reply(stream)["ok"], 1)
            stream.sendall(question * 100)
            for _ in range(100):
                self.assertEqual(reply(stream)["ok"], 1)

    def test_idle_connections_hold_little(self):
        before = self.server.memory_kb()
        streams = [handshake(self.server.port) for _ in range(300)]
        for stream in streams:
            stream.sendall(message({"ping": 1, "$db": "admin"}))
        for stream in streams:
            self.assertEqual(reply(stream)["ok"], 1)
        self.assertLess(self.server.memory_kb() - before, 300 * 100)
        self.assertLess(self.server.threads(), 100)
        for stream in streams:
            stream.close()

    def test_half_handshakes_and_garbage_disturb_nobody(self):
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
        sockets = []
        for data in (b"", b"\x16", hello, hello + b"\xff" * 700, b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100):
            for _ in range(20):
                sockets.append(socket.create_connection(("127.0.0.1", self.server.port)))
                sockets[-1].sendall(data)
        self.assertTrue(self.inside.admin.command("ping")["ok"])
        self.assertTrue(ping(self.server, ANN))
        for one in sockets:
            one.close()

    def test_the_whole_suite_of_libmongoc(self):
        program = os.environ.get("QUIRE_MONGOC", os.path.join(os.path.dirname(QUIRE), "drivers_mongoc"))
        done = subprocess.run([program, f"mongodb://127.0.0.1:{self.server.port}/?directConnection=true&tls=true"
                                        f"&tlsCAFile={CA.file}&tlsCertificateKeyFile={ANN}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertRegex(done.stdout.decode(), r"\n[1-9][0-9]* passed, 0 failed\n$")

    def test_the_library_and_its_tool(self):
        self.inside.tls.exported.drop()
        self.inside.tls.exported.insert_one({"_id": 7})
        uri = f"mongodb://127.0.0.1:{self.server.port}/?tls=true&tlsCAFile={{}}&tlsCertificateKeyFile={ANN}"
        def export(address):
            return subprocess.run([QUIRE, "export", "--uri", address, "-d", "tls", "-c", "exported"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        done = export(uri.format(CA.file))
        self.assertEqual(done.stdout.decode(), '{"_id":7}\n', done.stderr.decode())
        short = "&serverSelectionTimeoutMS=1500"
        for bad in (uri.format(FOREIGN.file), uri.format(CA.file).replace("tls=true", "tls=false"),
                    uri.format(CA.file).replace("127.0.0.1", "127.0.0.2")):
            self.assertNotEqual(export(bad + short).returncode, 0, bad)


class Rotation(Case):
    def test_new_certificates_without_a_restart(self):
        file = CA.issue("/CN=first", file=os.path.join(FOLDER, "rotated.pem"))
        with serve(certificate=file) as server, client(server, ANN) as inside:
            before = inside.admin.command("serverStatus")["security"]
            self.assertEqual(before["SSLServerSubjectName"], "CN=first")
            self.assertTrue(before["SSLServerHasCertificateAuthority"])
            with handshake(server.port) as old:
                self.assertEqual(served_name(old), "first")
                CA.issue("/CN=second", file=file)
                with handshake(server.port) as still:
                    self.assertEqual(served_name(still), "first")
                inside.admin.command("rotateCertificates", message="yearly")
                self.logged(server, "yearly")
                with handshake(server.port) as new:
                    self.assertEqual(served_name(new), "second")
                old.sendall(message({"ping": 1, "$db": "admin"}))
                self.assertEqual(reply(old)["ok"], 1)
            with open(file, "w") as out:
                out.write("broken")
            self.refused(140, inside.admin.command, "rotateCertificates")
            with handshake(server.port) as new:
                self.assertEqual(served_name(new), "second")
            self.assertEqual(inside.admin.command("serverStatus")["security"]["SSLServerSubjectName"], "CN=second")
            self.refused(13, inside.test.command, "rotateCertificates")
            self.refused(14, inside.admin.command, "rotateCertificates", message=1)
            self.refused(40415, inside.admin.command, "rotateCertificates", more=1)

    def test_a_new_list_of_revoked_ones(self):
        lost = CA.issue("/CN=lost later")
        crl = CA.revoked()
        with serve("--tlsCRLFile", crl) as server, client(server, ANN) as inside:
            self.assertTrue(ping(server, lost))
            CA.revoke(lost)
            inside.admin.command("rotateCertificates")
            self.shut_out(server, lost)

    def test_without_tls(self):
        with Server(None) as server, client(server, tls=False) as inside:
            self.assertEqual(inside.admin.command("rotateCertificates")["ok"], 1)


class Logins(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = serve("--auth", "--tlsAllowConnectionsWithoutCertificates", mode="preferTLS")
        client(cls.server, tls=False).admin.command("createUser", "root", pwd="secret", roles=["root"])
        cls.root = client(cls.server, username="root", password="secret")
        cls.root["$external"].command("createUser", ANN_SUBJECT, roles=[{"role": "readWrite", "db": "shop"}])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def x509(self, certificate, **options):
        return client(self.server, certificate, authMechanism="MONGODB-X509", **options)

    def test_by_certificate(self):
        for user in (None, ANN_SUBJECT):
            with self.x509(ANN, **({"username": user} if user else {})) as ann:
                self.assertEqual(ann.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"],
                                 [{"user": ANN_SUBJECT, "db": "$external"}])
                ann.shop.things.insert_one({})
                self.refused(13, ann.other.things.insert_one, {})
        counts = self.root.admin.command("serverStatus")["security"]["authentication"]["mechanisms"]["MONGODB-X509"]
        self.assertGreaterEqual(counts["authenticate"]["successful"], 2)

    def test_who_is_refused(self):
        unknown = CA.issue("/O=Acme/OU=People/CN=eve")
        member = CA.issue("/O=Acme/OU=Servers/CN=other")
        self.root["$external"].command("createUser", "CN=other,OU=Servers,O=Acme", roles=[])
        self.refused(18, self.x509(unknown).admin.command, "ping")
        self.refused(18, self.x509(ANN, username="CN=eve").admin.command, "ping")
        self.refused(18, self.x509(member).admin.command, "ping")
        self.refused(18, self.x509(None).admin.command, "ping")
        request = {"authenticate": 1, "mechanism": "MONGODB-X509", "user": ANN_SUBJECT}
        with client(self.server, tls=False) as plain:
            self.assertIn("No verified subject", self.refused(18, plain["$external"].command, request))
        with client(self.server, ANN) as inside:
            self.assertIn("$external", self.refused(17, inside.admin.command, request))
            self.refused(18, inside["$external"].command, {"authenticate": 1, "mechanism": "PLAIN"})
            self.refused(40414, inside["$external"].command, {"authenticate": 1})

    def test_with_hello(self):
        hello = {"hello": 1, "$db": "admin", "saslSupportedMechs": "$external." + ANN_SUBJECT,
                 "speculativeAuthenticate": {"authenticate": 1, "mechanism": "MONGODB-X509", "db": "$external"}}
        with handshake(self.server.port) as stream:
            stream.sendall(message(hello))
            answer = reply(stream)
            self.assertEqual(answer["speculativeAuthenticate"], {"dbname": "$external", "user": ANN_SUBJECT})
            self.assertEqual(answer["saslSupportedMechs"], ["MONGODB-X509"])
            stream.sendall(message({"find": "things", "$db": "shop"}))
            self.assertEqual(reply(stream)["ok"], 1)
        with handshake(self.server.port, None) as stream:
            stream.sendall(message(hello))
            self.assertNotIn("speculativeAuthenticate", reply(stream))
            stream.sendall(message({"find": "things", "$db": "shop"}))
            self.assertEqual(reply(stream)["code"], 13)

    def test_a_dropped_user_is_out(self):
        bob = CA.issue("/CN=bob,b")
        self.root["$external"].command("createUser", "CN=bob\\,b", roles=[{"role": "read", "db": "shop"}])
        with self.x509(bob) as logged_in:
            logged_in.shop.things.find_one()
            self.root["$external"].command("dropUser", "CN=bob\\,b")
            self.refused(13, logged_in.shop.things.find_one)

    def test_invalid_but_allowed_certificates_are_no_login(self):
        foreign = FOREIGN.issue("/O=Acme/OU=People/CN=ann")
        with serve("--tlsAllowInvalidCertificates") as server:
            with client(server, ANN) as inside:
                inside["$external"].command("createUser", ANN_SUBJECT, roles=[])
            self.assertTrue(ping(server, ANN, authMechanism="MONGODB-X509"))
            self.refused(18, ping, server, foreign, authMechanism="MONGODB-X509")

    def test_passwords_are_not_for_external_users(self):
        self.refused(2, self.root["$external"].command, "createUser", "CN=x", pwd="x", roles=[])
        self.assertEqual(self.root["$external"].command("usersInfo", ANN_SUBJECT)["users"][0]["mechanisms"],
                         ["external"])

    def test_mechanisms_that_are_not_enabled(self):
        with serve("--setParameter", "authenticationMechanisms=SCRAM-SHA-256") as server:
            with client(server, ANN) as inside:
                self.assertEqual(inside.admin.command("getParameter", authenticationMechanisms=1)
                                 ["authenticationMechanisms"], ["SCRAM-SHA-256"])
                inside["$external"].command("createUser", ANN_SUBJECT, roles=[])
                inside.admin.command("createUser", "u", pwd="p", roles=[])
                self.assertEqual(inside.admin.command("hello", saslSupportedMechs="admin.u")["saslSupportedMechs"],
                                 ["SCRAM-SHA-256"])
            self.refused(334, ping, server, ANN, authMechanism="MONGODB-X509")
            self.refused(334, ping, server, ANN, username="u", password="p", authMechanism="SCRAM-SHA-1")
            self.assertTrue(ping(server, ANN, username="u", password="p"))
        with serve("--setParameter", "enforceUserClusterSeparation=false") as server:
            member = CA.issue("/O=Acme/OU=Servers/CN=other")
            with client(server, ANN) as inside:
                inside["$external"].command("createUser", "CN=other,OU=Servers,O=Acme", roles=[])
            self.assertTrue(ping(server, member, authMechanism="MONGODB-X509"))


class Restrictions(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(None, ["--auth", "--bind_ip", "127.0.0.1,127.0.0.2"])
        client(cls.server, tls=False).admin.command("createUser", "root", pwd="secret", roles=["root"])
        cls.root = client(cls.server, tls=False, username="root", password="secret")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def log_in(self, user, host="127.0.0.1", password="p"):
        return ping(self.server, tls=False, host=host, username=user, password=password)

    def make(self, user, restrictions, roles=()):
        self.root.admin.command("createUser", user, pwd="p", roles=[*roles], authenticationRestrictions=restrictions)

    def test_of_users(self):
        here, there = ["127.0.0.0/8"], ["192.0.2.0/24", "2001:db8::/32"]
        for number, (restrictions, welcome) in enumerate((
                ([{"clientSource": here}], True),
                ([{"clientSource": ["127.0.0.1"]}], True),
                ([{"clientSource": there}], False),
                ([{"clientSource": there + here}], True),
                ([{"serverAddress": ["127.0.0.1"]}], True),
                ([{"serverAddress": ["127.0.0.2"]}], False),
                ([{"clientSource": here, "serverAddress": ["127.0.0.2"]}], False),
                ([{"clientSource": there}, {"serverAddress": ["127.0.0.1"]}], True),
                ([], True))):
            user = f"restricted{number}"
            self.make(user, restrictions)
            for mechanism in ("SCRAM-SHA-1", "SCRAM-SHA-256"):
                with client(self.server, tls=False, username=user, password="p", authMechanism=mechanism) as one:
                    if welcome:
                        self.assertTrue(one.admin.command("ping")["ok"])
                    else:
                        self.refused(18, one.admin.command, "ping")

    def test_the_address_of_the_server(self):
        self.make("second", [{"serverAddress": ["127.0.0.2"]}])
        self.refused(18, self.log_in, "second")
        self.assertTrue(self.log_in("second", host="127.0.0.2"))

    def test_of_roles_and_inherited_ones(self):
        admin = self.root.admin
        admin.command("createRole", "far", privileges=[], roles=[],
                      authenticationRestrictions=[{"clientSource": ["192.0.2.1"]}])
        admin.command("createRole", "near", privileges=[], roles=[],
                      authenticationRestrictions=[{"clientSource": ["127.0.0.1"]}])
        admin.command("createRole", "above", privileges=[], roles=["far"])
        self.make("of_near", [], ["near"])
        self.make("of_far", [{"clientSource": ["127.0.0.1"]}], ["far"])
        self.make("of_above", [], ["above"])
        self.make("of_both", [], ["near", "far"])
        self.assertTrue(self.log_in("of_near"))
        for user in ("of_far", "of_above", "of_both"):
            self.refused(18, self.log_in, user)
        shown = admin.command("rolesInfo", "above", showAuthenticationRestrictions=True)["roles"][0]
        self.assertEqual(shown["authenticationRestrictions"], [])
        self.assertEqual(shown["inheritedAuthenticationRestrictions"], [[{"clientSource": ["192.0.2.1"]}]])
        self.assertNotIn("authenticationRestrictions", admin.command("rolesInfo", "far")["roles"][0])
        user = admin.command("usersInfo", "of_far", showAuthenticationRestrictions=True)["users"][0]
        self.assertEqual(user["authenticationRestrictions"], [{"clientSource": ["127.0.0.1"]}])
        self.assertEqual(user["inheritedAuthenticationRestrictions"], [[{"clientSource": ["192.0.2.1"]}]])
        self.assertNotIn("authenticationRestrictions", admin.command("usersInfo", "of_far")["users"][0])
        admin.command("updateRole", "far", authenticationRestrictions=[])
        for user in ("of_far", "of_above", "of_both"):
            self.assertTrue(self.log_in(user))

    def test_changed_while_logged_in(self):
        self.make("moving", [], ["read"])
        with client(self.server, tls=False, username="moving", password="p") as inside:
            inside.admin.things.find_one()
            self.root.admin.command("updateUser", "moving", authenticationRestrictions=[{"clientSource": ["192.0.2.1"]}])
            self.refused(13, inside.admin.things.find_one)
        self.refused(18, self.log_in, "moving")
        self.root.admin.command("updateUser", "moving", authenticationRestrictions=[])
        self.assertTrue(self.log_in("moving"))
        self.assertNotIn("authenticationRestrictions", self.root.admin.system.users.find_one({"user": "moving"}))

    def test_bad_ones(self):
        for restrictions, code in (
                ("127.0.0.1", 14), (["127.0.0.1"], 14), ([{}], 162), ([{"clientSource": "127.0.0.1"}], 14),
                ([{"clientSource": []}], 162), ([{"clientSource": [1]}], 14),
                ([{"clientSource": ["localhost"]}], 12), ([{"clientSource": ["127.0.0.1/33"]}], 12),
                ([{"clientSource": ["127.0.0.1/"]}], 12), ([{"clientSource": ["127.0.0.1/-1"]}], 12),
                ([{"clientSource": ["::1/129"]}], 12), ([{"clientsource": ["127.0.0.1"]}], 40415)):
            self.refused(code, self.root.admin.command, "createUser", "bad", pwd="p", roles=[],
                         authenticationRestrictions=restrictions)
            self.refused(code, self.root.admin.command, "createRole", "bad", privileges=[], roles=[],
                         authenticationRestrictions=restrictions)

    def test_need_an_action(self):
        place = {"db": "shop", "collection": ""}
        self.root.shop.command("createRole", "makers", roles=[], privileges=[
            {"resource": place, "actions": ["createUser", "createRole", "grantRole", "revokeRole"]}])
        self.root.shop.command("createUser", "maker", pwd="p", roles=["makers"])
        self.root.shop.command("createUser", "full", pwd="p", roles=["userAdmin"])
        given = {"authenticationRestrictions": [{"clientSource": ["127.0.0.1"]}]}
        with client(self.server, tls=False, username="maker", password="p", authSource="shop") as maker:
            maker.shop.command("createUser", "without", pwd="p", roles=[])
            maker.shop.command("createRole", "without", privileges=[], roles=[])
            self.refused(13, maker.shop.command, "createUser", "with", pwd="p", roles=[], **given)
            self.refused(13, maker.shop.command, "updateUser", "without", **given)
            self.refused(13, maker.shop.command, "createRole", "with", privileges=[], roles=[], **given)
            self.refused(13, maker.shop.command, "updateRole", "without", **given)
        with client(self.server, tls=False, username="full", password="p", authSource="shop") as full:
            full.shop.command("createUser", "with", pwd="p", roles=[], **given)
            full.shop.command("updateUser", "without", **given)
            full.shop.command("createRole", "with", privileges=[], roles=[], **given)
        self.root.shop.command("updateRole", "without", **given)


if __name__ == "__main__":
    counted.main()
