/** How a message becomes bytes on a duplex wire, and how the bytes become messages again. */

export const newline = {
  encode: (text) => Buffer.from(`${text}\n`),
  createDecoder() {
    let unread = "";
    return (chunk) => {
      const lines = (unread + chunk.latin1Slice()).split("\n");
      unread = lines.pop();
      return lines;
    };
  },
};

export const contentLength = {
  encode: (text) => Buffer.from(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`),
  createDecoder() {
    let unread = "";
    return (chunk) => {
      unread += chunk.latin1Slice();
      const messages = [];
      let at = 0;
      for (;;) {
        const headEnd = unread.indexOf("\r\n\r\n", at);
        if (headEnd === -1) break;
        const length = /content-length: ?(\d+)/i.exec(unread.slice(at, headEnd))?.[1];
        if (length === undefined) throw new Error("a frame without a length");
        const end = headEnd + 4 + Number(length);
        if (end > unread.length) break;
        messages.push(unread.slice(headEnd + 4, end));
        at = end;
      }
      unread = unread.slice(at);
      return messages;
    };
  },
};

// Any key works except zero: servers then skip unmasking.
const maskKey = Buffer.from([0x12, 0x34, 0x56, 0x78]);
const textFrame = 0x81;
const closeFrame = 0x88;

/** Text frames as a WebSocket client sends them, with messages of at most 65,535 bytes. */
export const webSocket = {
  encode(text) {
    const payload = Buffer.from(text);
    for (let i = 0; i < payload.length; i++) payload[i] ^= maskKey[i & 3];
    const long = payload.length > 125;
    const head = Buffer.from([textFrame, 0x80 | (long ? 126 : payload.length)]);
    const length = Buffer.alloc(long ? 2 : 0);
    if (long) length.writeUInt16BE(payload.length);
    return Buffer.concat([head, length, maskKey, payload]);
  },
  createDecoder() {
    let unread = Buffer.alloc(0);
    return (chunk) => {
      const bytes = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
      const messages = [];
      let at = 0;
      while (at + 2 <= bytes.length) {
        const long = bytes[at + 1] === 126;
        if (long && at + 4 > bytes.length) break;
        const start = at + (long ? 4 : 2);
        const end = start + (long ? bytes.readUInt16BE(at + 2) : bytes[at + 1]);
        if (end > bytes.length) break;
        if (bytes[at] === closeFrame) throw new Error("the server closed the WebSocket");
        if (bytes[at] === textFrame) messages.push(bytes.latin1Slice(start, end));
        at = end;
      }
      unread = bytes.subarray(at);
      return messages;
    };
  },
};
