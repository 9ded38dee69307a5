"""Serves a database on Oracle's wire protocol: `serve.py FOLDER DESCRIPTION PORT...`, an instance on each port, on loopback.
`PORT=PORT,PORT` is a listener that redirects to those of instances in turn, as the listeners of a cluster's name do.

The protocol is that of the package seerdb (its Mirror, a preview). FOLDER/statements gets each statement as it arrives, and
FOLDER/faults, which tests write, has faults a line: `WORDS => FAULT`. It meets a statement whose line in
FOLDER/statements contains the words:

    error CODE [after N]     fails it; a batch after N operations
    cut [after N]            cuts the connection
    slow SECONDS             holds it up, before each operation of a batch
    wait SECONDS             holds it up unless it is cancelled

FOLDER/lost, if it is there, has the numbers of instances that are gone.

FOLDER/tls.pem, if it is there, has certificate and key: all connections are encrypted then. With FOLDER/clients.pem, an
authority, clients must have a certificate that it signed.
"""

import itertools
import logging
import socket
import ssl
import struct
import sys
import threading
import time
from pathlib import Path

import database
import seerdb.server.session as wire
from seerdb.common import tns_consts
from seerdb.common.crypto import VFR_12C_SHA2
from seerdb.common.tns import Truncated
from seerdb.server import BackendError, BindVar, Server

make_challenge = wire.make_challenge
complete_message = wire._complete_message
# A pause after which no packet of a message is on its way.
PACKET_GAP_S = 0.003
# The time for the next packet of a message that is known to be incomplete.
PACKET_PATIENCE_S = 10


def offer_12c_verifier(secret, **options):
    """Servers of 12c and later offer the verifier of 12c; the package offers that of 11g to thin clients."""
    if options.get('field_version', 0) >= tns_consts.FIELD_VERSION_12_1:
        options['verifier_type'] = VFR_12C_SHA2
    return make_challenge(secret, **options)


def complete_at_once(stream, body, parse):
    """Takes all that has arrived before each try to parse it: the package tries after each packet, in quadratic time."""
    while True:
        try:
            parse(body)
            return body
        except Truncated:
            pass
        except Exception:
            return complete_message(stream, body, parse)
        parts, patience = [body], PACKET_PATIENCE_S
        while True:
            try:
                received = stream.read_packet(within=patience)
            except TimeoutError:
                break
            if received is None or received[0] != tns_consts.TNS_DATA:
                raise ConnectionError('the client left within a message')
            parts.append(received[1])
            patience = PACKET_GAP_S
        if len(parts) == 1:
            return complete_message(stream, body, parse)
        body = b''.join(parts)


wire.make_challenge = offer_12c_verifier
wire._complete_message = complete_at_once


class Cut(BaseException):
    """Ends a connection: no handler of the package takes it for an error of a statement."""


class Script:
    """Writes statements down, and has those fail that a test names."""

    def __init__(self, folder):
        self.faults, self.lost = folder / 'faults', folder / 'lost'
        self.log = (folder / 'statements').open('a', buffering=1)

    def has_lost(self, instance):
        return self.lost.exists() and str(instance.number) in self.lost.read_text().split()

    def statement(self, session, sql, binds, rows=1):
        kinds = [f'{bind.tns_type}/{bind.csfrm}/{bind.max_size}' if isinstance(bind, BindVar) else type(bind).__name__ for bind in binds]
        words = ' '.join(sql.split())
        self.log.write(f'{session.user}@{session.instance.number}: {words} {kinds} x{rows}\n')
        if getattr(session, 'is_killed', False) or self.has_lost(session.instance):
            raise Cut
        session.words = f'{session.user}@{session.instance.number}: {words}'.lower()
        session.fault = next((fault for fault in self.read() if fault[0] in session.words), None)
        if session.fault and 'after' not in session.fault[1] and ':work' not in session.words:
            self.happen(session)

    def operation(self, session, number):
        if self.has_lost(session.instance):
            raise Cut
        if not session.fault:
            return
        _, words = session.fault
        after = int(words[words.index('after') + 1]) if 'after' in words else 0
        if number >= after:
            self.happen(session)

    def read(self):
        try:
            lines = self.faults.read_text().splitlines()
        except FileNotFoundError:
            return []
        return [(words.strip().lower(), what.split()) for words, what in (line.split('=>') for line in lines if line)]

    def happen(self, session):
        what, *rest = session.fault[1]
        if what == 'slow':
            time.sleep(float(rest[0]))
        elif what == 'wait':
            session.is_busy = True
            session.pause(float(rest[0]))
        elif what == 'cut':
            raise Cut
        else:
            # The server cuts the connection of a killed session after it has said so.
            session.is_killed = int(rest[0]) == 28
            raise database.fault(int(rest[0]))


def tls(folder):
    file = folder / 'tls.pem'
    if not file.exists():
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    clients = folder / 'clients.pem'
    if clients.exists():
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return context


def session_of(base, instance, script):
    if script.has_lost(instance):
        raise Cut
    return database.Session(base, instance, script)


def packet(kind, body):
    return struct.pack('>HHBBH', len(body) + 8, 0, kind, 0, 0) + body


def redirect(listener, instances, script):
    """Sends each client to the next of the instances that are there, by their ports."""
    turns = itertools.count()
    while True:
        client, _ = listener.accept()
        with client:
            client.recv(8192)
            here = [port for port, instance in instances.items() if not script.has_lost(instance)]
            address = f'(ADDRESS=(PROTOCOL=TCP)(HOST=127.0.0.1)(PORT={here[next(turns) % len(here)]}))'
            text = f'{address}\0(DESCRIPTION={address}(CONNECT_DATA=(SERVICE_NAME=pdb1)))'.encode()
            client.sendall(packet(tns_consts.TNS_REDIRECT, struct.pack('>H', len(text))))
            client.sendall(packet(tns_consts.TNS_DATA, b'\0\0' + text))
            # The client leaves when it has read it.
            client.settimeout(10)
            client.recv(1)


def serve(server):
    try:
        server.serve_forever()
    except Exception:
        logging.exception('serving')


def main(folder, description, ports):
    folder = Path(folder)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    # What a cut connection leaves of its thread is no error.
    threading.excepthook = lambda left: None if left.exc_type is Cut else sys.__excepthook__(*left[:3])
    own = [int(port) for port in ports if '=' not in port]
    base = database.Database(database.describe(description), len(own))
    script = Script(folder)
    instances = dict(zip(own, base.instances))
    # These listen before the first instance does, by which a test knows that all is there.
    redirecting = [
        (socket.create_server(('127.0.0.1', int(port))), {int(other): instances[int(other)] for other in others.split(',')})
        for port, others in (port.split('=') for port in ports if '=' in port)
    ]
    servers = [
        Server('127.0.0.1', port, backend_factory=lambda of=instance: session_of(base, of, script),
               field_version=base.description['wire'], ssl_context=tls(folder))
        for port, instance in instances.items()
    ]
    threads = [threading.Thread(target=serve, args=(server,)) for server in servers]
    threads += [threading.Thread(target=redirect, args=(*listener, script), daemon=True) for listener in redirecting]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
