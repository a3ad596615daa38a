/** Keeps a number of calls in flight over one duplex wire and checks every reply. */

/** `input` is where replies come from, `output` where requests go; both are node streams. */
export function createWindow({ input, output, framing, dialect }) {
  const decode = framing.createDecoder();
  const encoded = [];
  let onMessages;
  let onLost;

  input.on("data", (chunk) => {
    try {
      const messages = decode(chunk);
      if (messages.length > 0) onMessages?.(messages);
    } catch (error) {
      onLost?.(error);
    }
  });
  input.on("close", () => onLost?.(new Error("the connection was closed")));
  output.on("error", () => {});

  function bytes(slot) {
    if (encoded[slot] !== undefined) return encoded[slot];
    const frames = Buffer.concat(dialect.request(slot).map(framing.encode));
    if (dialect.repeats) encoded[slot] = frames;
    return frames;
  }

  /** Resolves to the number of calls answered within `ms`, and of those still in flight then. */
  return function exchange(inFlight, ms) {
    return new Promise((resolve, reject) => {
      const busy = new Uint8Array(inFlight).fill(1);
      let calls = 0;
      let waiting = inFlight;
      let over = false;
      const timer = setTimeout(() => {
        over = true;
      }, ms);
      onLost = (error) => {
        clearTimeout(timer);
        onMessages = undefined;
        reject(error);
      };
      onMessages = (messages) => {
        const requests = [];
        for (const text of messages) {
          const slot = dialect.slotOf(text);
          if (busy[slot] !== 1)
            throw new Error(`a reply that nobody waits for: ${text.slice(0, 200)}`);
          calls++;
          if (over) {
            busy[slot] = 0;
            waiting--;
          } else {
            requests.push(bytes(slot));
          }
        }
        // Requests that became due together leave together, as from a client that corks its socket.
        if (requests.length > 0)
          output.write(requests.length === 1 ? requests[0] : Buffer.concat(requests));
        if (waiting === 0) {
          onMessages = undefined;
          resolve(calls);
        }
      };
      output.write(Buffer.concat(Array.from(busy, (_, slot) => bytes(slot))));
    });
  };
}

/** "64 in flight" as a number. */
export function inFlightOf(workload) {
  return Number.parseInt(workload, 10);
}
