import {
  type Client,
  createClient,
  createServer,
  exchangeLink,
  type Link,
  type Methods,
  type Server,
  type ServerOptions,
  type Service,
  silentLog,
} from "callwire";
import {
  createGateway,
  type Gateway,
  type GatewayConfig,
  type GatewayOptions,
} from "callwire/gateway";
import { serveSocket, tcpLink } from "callwire/tcp";
import { onTestFinished } from "vitest";
import { ownPort } from "../own-port.ts";

/** A server behind a gateway, which can go away and come back at the same port. */
export class Behind {
  readonly #methods: Methods;
  readonly #options: ServerOptions;
  #server: Server | undefined;
  readonly port: number;

  constructor(methods: Methods, options: ServerOptions, port: number) {
    this.#methods = methods;
    this.#options = options;
    this.port = port;
  }

  static async start(methods: Methods, options: ServerOptions = {}): Promise<Behind> {
    const behind = new Behind(methods, options, await ownPort());
    await behind.start();
    onTestFinished(() => behind.stop());
    return behind;
  }

  async start(): Promise<void> {
    this.#server = createServer(this.#methods, { log: silentLog, ...this.#options });
    await serveSocket(this.#server, { port: this.port });
  }

  async stop(): Promise<void> {
    await this.#server?.close({ drainMs: 0 });
  }

  get url(): string {
    return `tcp://127.0.0.1:${this.port}`;
  }

  /** A link that does not reconnect, so that the gateway sees each failure. */
  link(): Link {
    return tcpLink({ port: this.port, reconnect: { attempts: 0 } });
  }
}

export async function start(config: GatewayConfig, options: GatewayOptions = {}): Promise<Gateway> {
  const gateway = await createGateway(config, { log: silentLog, ...options });
  onTestFinished(() => gateway.close({ drainMs: 0 }));
  return gateway;
}

/** A client of a service that is reached without a wire. */
export function clientOf(service: Service): Client {
  return createClient(exchangeLink(async (text) => service.receive(text)));
}
