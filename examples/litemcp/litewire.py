"""How LiteMCP messages travel: ended by three newlines on a pipe, one per text frame on a WebSocket.

Python's standard library has no WebSocket, so the little of RFC 6455 that is needed is here, for both ends.
"""

import base64
import hashlib
import json
import os
import struct

END = b"\n\n\n"
MAX_BYTES = 16 << 20


def read_messages(pipe):
    """Yields the JSON texts on a pipe. The last one may come without its end."""
    text = b""
    for line in pipe:
        text += line.replace(b"\r", b"")
        if len(text) > MAX_BYTES:
            raise ValueError("a message without end")
        if text.endswith(END):
            if text.strip():
                yield text
            text = b""
    if text.strip():
        yield text


def encode(message):
    """Returns a message as it is written to a pipe. JSON itself never holds three newlines in a row."""
    return json.dumps(message, ensure_ascii=False).encode() + END


TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA


class WebSocket:
    """One end of an open WebSocket. `masks` is true at the client's end (RFC 6455, 5.3)."""

    def __init__(self, reader, writer, masks):
        self.reader, self.writer, self.masks = reader, writer, masks

    def send(self, text, opcode=TEXT):
        data = text.encode() if isinstance(text, str) else text
        size, mask_bit = len(data), 0x80 if self.masks else 0
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([mask_bit | size])
        elif size < 1 << 16:
            head += bytes([mask_bit | 126]) + struct.pack(">H", size)
        else:
            head += bytes([mask_bit | 127]) + struct.pack(">Q", size)
        if self.masks:
            key = os.urandom(4)
            head, data = head + key, masked(data, key)
        self.writer.write(head + data)
        self.writer.flush()

    def __iter__(self):
        """Yields the text messages of the other end until it closes."""
        whole = b""
        while frame := self.read_frame():
            last, opcode, data = frame
            if opcode == CLOSE:
                self.send(data, CLOSE)
                return
            if opcode == PING:
                self.send(data, PONG)
            elif opcode != PONG:
                whole += data
                if last:
                    yield whole
                    whole = b""

    def read_frame(self):
        head = self.reader.read(2)
        if len(head) < 2:
            return None
        size = head[1] & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self.reader.read(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self.reader.read(8))
        if size > MAX_BYTES:
            raise ValueError("a frame too large")
        key = self.reader.read(4) if head[1] & 0x80 else None
        data = self.reader.read(size)
        return head[0] & 0x80, head[0] & 0x0F, masked(data, key) if key else data


def accept_key(key):
    """Returns what a server answers to the key of a client's handshake."""
    digest = hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    return base64.b64encode(digest).decode()


def masked(data, key):
    return bytes(byte ^ key[at % 4] for at, byte in enumerate(data))
