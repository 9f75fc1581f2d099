"""The private key and certificate by which the processes of a job know each other.

Both are in one file in the job's directory.  Only the job's owner can read it.
"""

from __future__ import annotations

import hmac
import os
import secrets
import ssl
import stat
from functools import cached_property
from pathlib import Path

from rdb.errors import NotYours, Unsupported
from rdb.private import HCA_KEY, check_job, opener

KEY_FILE = "agents.pem"
_MAX_BYTES = 64 << 10


class Identity:
    """Key and certificate, as PEM.  Both ends of a channel have the same, and trust no other.

    `asks` and `answers` are the TLS contexts of the client and the server; they raise NotYours if
    the PEM text is damaged.
    """

    def __init__(self, pem: bytes) -> None:
        self.pem = pem

    @cached_property
    def asks(self) -> ssl.SSLContext:
        return self._context(ssl.PROTOCOL_TLS_CLIENT)

    @cached_property
    def answers(self) -> ssl.SSLContext:
        return self._context(ssl.PROTOCOL_TLS_SERVER)

    def hca_key(self) -> bytes:
        """The secret of the job's software HCAs, derived from the key: hosts that do not share the
        job's directory get the same one."""
        return hmac.digest(self.pem, b"rdb hca", "sha256")

    def _context(self, protocol: int) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # hosts have many names: the certificate is the identity
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(cadata=self.pem.decode("ascii"))
            _load_chain(context, self.pem)
        except (ValueError, ssl.SSLError) as error:
            raise NotYours("the job's key and certificate are damaged") from error
        return context


def _load_chain(context: ssl.SSLContext, pem: bytes) -> None:
    """Loads key and certificate.  OpenSSL reads them from files only, so use one in memory."""
    with open(os.memfd_create("rdb"), "wb", buffering=0) as file:
        file.write(pem)
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")


def job_identity(job: str) -> Identity:
    """The identity of a job; the first caller makes it, and no other sees it half written.

    Raises NotYours if the file or the directory is not the user's alone, Unsupported if the file
    cannot be made or read.
    """
    check_job(job)
    path = os.path.join(job, KEY_FILE)
    try:
        if not os.path.exists(path):
            _make(path)
        return Identity(_read(path))
    except OSError as error:
        raise Unsupported(f"{path}: {error.strerror}") from error


def is_job_of(job: Path, identity: Identity) -> bool:
    """Whether the directory has this key, and not another job of the same name on this host."""
    try:
        return (job / KEY_FILE).read_bytes() == identity.pem
    except FileNotFoundError:
        return False


def write_keys(job: Path, identity: Identity) -> None:
    """Writes the identity that came by ssh, and the HCA key derived from it, on a host that does
    not see the job's directory."""
    _put(job / KEY_FILE, identity.pem)
    _put(job / HCA_KEY, identity.hca_key())


def same_hca_key(job: Path) -> None:
    """Writes the HCA key that hosts with `write_keys` have."""
    _put(job / HCA_KEY, job_identity(str(job)).hca_key())


def new_identity() -> Identity:
    # imported here: `cryptography` takes longer to import than all else in a command
    from datetime import UTC, datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "job of rdb")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # hosts' clocks differ, and a job may be restarted years later (RFC 5280, 4.1.2.5)
        .not_valid_before(datetime(2000, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Identity(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _put(path: Path, key: bytes) -> None:
    own = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with open(own, "xb", opener=opener) as file:
        file.write(key)
    os.rename(own, path)


def _make(path: str) -> None:
    own = f"{path}.{secrets.token_hex(8)}"
    with open(own, "xb", opener=opener) as file:
        file.write(new_identity().pem)
    try:
        os.link(own, path)
    except FileExistsError:  # another was faster
        pass
    finally:
        os.unlink(own)


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
            raise NotYours(f"{path}: others may read it", f"chmod 600 {path}")
        pem = file.read(_MAX_BYTES)
    if not pem.startswith(b"-----BEGIN CERTIFICATE-----\n"):
        raise NotYours(f"{path} is not a certificate", f"remove it: rm {path}")
    return pem
