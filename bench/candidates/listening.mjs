/** The port that a server got. */

/** Lets a node server listen on a free port of the loopback address. */
export function listening(server) {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(server.address().port));
  });
}

/** The port of a server of `ws` that listens on a free one. */
export function webSocketPort(server) {
  return new Promise((resolve) => {
    server.once("listening", () => resolve(server.address().port));
  });
}
