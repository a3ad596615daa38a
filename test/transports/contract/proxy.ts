import { connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";

export interface Proxy {
  readonly port: number;
  /** Breaks every connection in both directions, as a pulled cable does once it is noticed. */
  cut(): void;
  /** Lets nothing through and says nothing, as a network does that was parted. */
  freeze(): void;
  thaw(): void;
  close(): void;
}

/** Stands between a client and a server that listen to sockets, so that a test can break what is between them. */
export async function startProxy(target: NetConnectOpts): Promise<Proxy> {
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
  // A proxy that waits for more before it passes something on would be most of the time that is measured.
  const socketOptions = { allowHalfOpen: true, noDelay: true };
  const listener = createServer(socketOptions, (near) => {
    const far = connect({ ...target, ...socketOptions });
    keep(near);
    keep(far);
    const pair = [near, far] as const;
    pairs.add(pair);
    join(near, far);
    near.on("close", () => pairs.delete(pair));
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  const port = await listenAnew(listener);
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

/** At a port that no proxy of this process had: whoever pools connections may still have one to it. */
async function listenAnew(listener: Server): Promise<number> {
  for (;;) {
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const address = listener.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    if (!taken.has(address.port)) {
      taken.add(address.port);
      return address.port;
    }
    await new Promise((resolve) => listener.close(resolve));
  }
}

/** The ways to one server: everybody comes through a proxy, which can break what is between them. */
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
