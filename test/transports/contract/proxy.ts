import {
  type AddressInfo,
  connect,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from "node:net";

export interface Proxy {
  readonly port: number;
  /** Breaks every connection in both directions, as a pulled cable does once it is noticed. */
  cut(): void;
  /** Silently lets nothing through, like a partitioned network. */
  freeze(): void;
  thaw(): void;
  close(): void;
}

/**
 * Stands between a client and a server on sockets, so that a test can break what passes between
 * them. A test that closes it and then tries its port passes its own.
 */
export async function startProxy(target: NetConnectOpts, ownPort?: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const pairs = new Set<readonly [Socket, Socket]>();
  let frozen = false;
  const join = (near: Socket, far: Socket): void => {
    if (frozen) return;
    near.pipe(far);
    far.pipe(near);
  };
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  };
  // A proxy that waits for more before it forwards something would take most of the measured time.
  const socketOptions = { allowHalfOpen: true, noDelay: true };
  const listener = createServer(socketOptions, (near) => {
    const far = connect({ host: "127.0.0.1", ...target, ...socketOptions });
    keep(near);
    keep(far);
    const pair = [near, far] as const;
    pairs.add(pair);
    join(near, far);
    near.on("close", () => pairs.delete(pair));
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  const port = ownPort ?? (await listenAnew(listener));
  if (ownPort !== undefined) await listen(listener, ownPort);
  const cut = (): void => {
    for (const socket of sockets) {
      // Only TCP knows a reset.
      if (socket.remoteFamily === undefined) socket.destroy();
      else socket.resetAndDestroy();
    }
  };
  return {
    port,
    cut,
    freeze() {
      frozen = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    thaw() {
      frozen = false;
      for (const [near, far] of pairs) join(near, far);
    },
    close() {
      listener.close();
      cut();
    },
  };
}

const taken = new Set<number>();

/**
 * On a port that no proxy of this process had: a pool may still have a connection to such a port.
 * If the system has few ports, one that was closed long ago is used.
 */
async function listenAnew(listener: Server): Promise<number> {
  for (let attempts = 20; ; attempts--) {
    const port = await listen(listener, 0);
    if (!taken.has(port) || attempts === 0) {
      taken.add(port);
      return port;
    }
    await new Promise((resolve) => listener.close(resolve));
  }
}

function listen(listener: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(port, "127.0.0.1", () => {
      listener.off("error", reject);
      resolve((listener.address() as AddressInfo).port);
    });
  });
}

/**
 * The paths to one server: all clients connect through a proxy, which can break what is between
 * them.
 */
export class Proxies {
  readonly #target: NetConnectOpts;
  readonly #all: Proxy[] = [];

  constructor(target: NetConnectOpts) {
    this.#target = target;
  }

  async open(): Promise<Proxy> {
    const proxy = await startProxy(this.#target);
    this.#all.push(proxy);
    return proxy;
  }

  close(): void {
    for (const proxy of this.#all) proxy.close();
  }
}
