/** A load balancer without sticky sessions: each request goes to the next server. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export class RoundRobin {
  readonly #targets: string[] = [];
  readonly #server = createServer((incoming, response) => void this.#forward(incoming, response));
  #next = 0;
  /** How many sessions were opened. */
  opened = 0;

  add(url: string | URL): void {
    this.#targets.push(String(url));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    if (body.includes('"method":"initialize"')) this.opened++;
    const first = this.#next++;
    for (let attempt = 0; attempt < this.#targets.length; attempt++) {
      const index = (first + attempt) % this.#targets.length;
      const url = this.#targets[index] as string;
      if (await this.#send(url, incoming, body, response)) return;
    }
    response.writeHead(502).end();
  }

  /** False if the server could not be reached, so that it did not get the request. */
  #send(
    url: string,
    { method, headers }: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ): Promise<boolean> {
    return new Promise((resolve) => {
      const outgoing = request(url, { method, headers, agent: false });
      outgoing.on("response", (reply) => {
        resolve(true);
        response.writeHead(reply.statusCode ?? 502, reply.headers);
        response.flushHeaders();
        reply.on("error", () => response.destroy());
        reply.pipe(response);
      });
      outgoing.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED") resolve(false);
        else {
          resolve(true);
          response.destroy();
        }
      });
      response.on("close", () => outgoing.destroy());
      outgoing.end(body);
    });
  }
}
