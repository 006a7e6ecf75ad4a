# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests, made by the openssl command when they are needed: nothing that expires is kept.
As a program, `certificates.py FOLDER` makes those the Node.js tests use."""
import datetime
import os
import subprocess
import sys

CONFIG = """
[ca]
default_ca = here
[here]
database = {folder}/index.txt
serial = {folder}/serial
new_certs_dir = {folder}
certificate = {folder}/ca.pem
private_key = {folder}/ca.key
default_md = sha256
default_days = 1
default_crl_days = 1
unique_subject = no
copy_extensions = copy
preserve = yes
policy = any
[any]
countryName = optional
organizationName = optional
organizationalUnitName = optional
domainComponent = optional
commonName = optional
[req]
distinguished_name = names
[names]
"""
LOCAL = "DNS:localhost,IP:127.0.0.1"


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {' '.join(arguments)}:\n{done.stdout.decode()}")


def moment(days):
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    return now.strftime("%Y%m%d%H%M%SZ")


class Authority:
    """A certificate authority in a folder of its own; `file` is its certificate."""

    def __init__(self, folder, name="Test Authority"):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.file = self._path("ca.pem")
        self.made = 0
        for empty in ("index.txt",):
            open(self._path(empty), "w").close()
        with open(self._path("serial"), "w") as file:
            file.write("1000\n")
        self.config = self._path("config")
        with open(self.config, "w") as file:
            file.write(CONFIG.format(folder=folder))
        openssl("req", "-x509", "-config", self.config, "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", f"/CN={name}",
                "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", self._path("ca.key"),
                "-out", self.file)

    def _path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, subject, names=LOCAL, days=(-1, 1), password=None, file=None):
        """The path of a PEM file with the key and the certificate; `subject` as "/O=Acme/CN=ann"."""
        self.made += 1
        key, request, certificate = (self._path(f"{self.made}.{kind}") for kind in ("key", "csr", "crt"))
        openssl("req", "-new", "-config", self.config, "-utf8", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                *(["-passout", "pass:" + password] if password else ["-nodes"]),
                "-subj", subject, "-addext", "subjectAltName=" + names, "-keyout", key, "-out", request)
        openssl("ca", "-batch", "-notext", "-utf8", "-config", self.config, "-startdate", moment(days[0]),
                "-enddate", moment(days[1]), "-in", request, "-out", certificate)
        path = file or self._path(f"{self.made}.pem")
        with open(path, "w") as out:
            for part in (key, certificate):
                with open(part) as source:
                    out.write(source.read())
        return path

    def revoke(self, path):
        """Puts the certificate on the list of revoked ones; the list's path."""
        openssl("ca", "-config", self.config, "-revoke", path)
        return self.revoked()

    def revoked(self):
        path = self._path("crl.pem")
        openssl("ca", "-config", self.config, "-gencrl", "-out", path)
        return path


def main():
    folder = sys.argv[1]
    authority = Authority(os.path.join(folder, "ours"))
    foreign = Authority(os.path.join(folder, "theirs"), "Foreign Authority")
    for name, path in {
            "ca": authority.file, "foreign_ca": foreign.file,
            "server": authority.issue("/O=Acme/OU=Servers/CN=localhost"),
            "elsewhere": authority.issue("/O=Acme/OU=Servers/CN=elsewhere", names="DNS:elsewhere.example"),
            "client": authority.issue("/O=Acme/OU=People/CN=ann"),
            "expired": authority.issue("/O=Acme/OU=People/CN=ann", days=(-3, -2)),
            "foreign": foreign.issue("/O=Acme/OU=People/CN=ann")}.items():
        os.replace(path, os.path.join(folder, name + ".pem"))


if __name__ == "__main__":
    main()
