import { once } from "node:events";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { createInterface } from "node:readline";
import { createClient, createServer, fallback, type Link, type Server, silentLog } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { Behind, clientOf, start } from "../gateway/behind.ts";
import { ownPort } from "../own-port.ts";
import { deferred } from "./contract/wire.ts";
import { RawSocket } from "./tcp/raw-socket.ts";

const lastWord =
  '{"jsonrpc":"2.0","error":{"code":-32006,"message":"Server is shutting down","data":{"ran":false,"reason":"stopping"}},"id":null}';

type Reconnect = { readonly attempts: number; readonly delayMs: number } | false;
type Tap = (text: string, direction: "sent" | "received") => void;
type Hear = (message: string) => { readonly text: string; readonly closes: boolean };

interface Wire {
  /** A server made with another library. */
  readonly serve: (hear: Hear) => Promise<number>;
  readonly link: (port: number, reconnect: Reconnect, tap?: Tap) => Link;
}

const overTcp: Wire = {
  async serve(hear) {
    const server = createNetServer((socket) => {
      socket.on("error", () => {});
      createInterface(socket).on("line", (line) => {
        const { text, closes } = hear(line);
        if (closes) socket.end(`${text}\n`);
        else socket.write(`${text}\n`);
      });
    });
    onTestFinished(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    return (server.address() as AddressInfo).port;
  },
  link: (port, reconnect, tap = () => {}) => tcpLink({ port, reconnect, tap }),
};

const overWebSocket: Wire = {
  async serve(hear) {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    server.on("connection", (socket) => {
      socket.on("message", (data) => {
        const { text, closes } = hear(`${data}`);
        socket.send(text);
        if (closes) socket.close(1001);
      });
    });
    onTestFinished(() => void server.close());
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  },
  link: (port, reconnect, tap = () => {}) =>
    webSocketLink(`ws://127.0.0.1:${port}`, { reconnect, tap }),
};

/** Disconnects at the first messages, this many, and answers later ones with their method. */
function goingAway(times: number): { hear: Hear; heard: string[] } {
  const heard: string[] = [];
  const hear: Hear = (message) => {
    const { method, id } = JSON.parse(message) as { method: string; id: number };
    const closes = heard.push(method) <= times;
    return {
      text: closes ? lastWord : JSON.stringify({ jsonrpc: "2.0", result: method, id }),
      closes,
    };
  };
  return { hear, heard };
}

/** Refuses this many calls by their ids, like a server that still lets others finish, and stays. */
function refusing(
  times: number,
  data: object = { ran: false, reason: "stopping" },
): { hear: Hear; heard: string[] } {
  const heard: string[] = [];
  const error = { code: -32006, message: "Server is shutting down", data };
  const hear: Hear = (message) => {
    const { method, id } = JSON.parse(message) as { method: string; id: number };
    const isRefused = heard.push(method) <= times;
    const reply = isRefused ? { error } : { result: method };
    return { text: JSON.stringify({ jsonrpc: "2.0", ...reply, id }), closes: false };
  };
  return { hear, heard };
}

describe.each([
  ["TCP", overTcp],
  ["WebSocket", overWebSocket],
])("over %s, a call that is refused while a server lets others finish", (_, wire) => {
  const reconnect = { attempts: 3, delayMs: 1 };

  test("goes out again, whatever it does, until a server accepts it", async () => {
    const { hear, heard } = refusing(2);
    await using client = createClient(wire.link(await wire.serve(hear), reconnect));
    expect(await client.call("pay")).toBe("pay");
    expect(heard).toEqual(["pay", "pay", "pay"]);
  });

  test("is refused if no other server takes it", async () => {
    const { hear, heard } = refusing(Number.POSITIVE_INFINITY);
    await using client = createClient(wire.link(await wire.serve(hear), reconnect));
    await expect(client.call("pay")).rejects.toMatchObject({ code: -32006 });
    expect(heard).toHaveLength(4);
  });

  test("fails with that at once on links that do not reconnect", async () => {
    const { hear, heard } = refusing(1);
    await using client = createClient(wire.link(await wire.serve(hear), false));
    await expect(client.call("pay")).rejects.toMatchObject({ code: -32006 });
    expect(heard).toHaveLength(1);
  });

  test("goes to the next link at once if there is one", async () => {
    const { hear, heard } = refusing(Number.POSITIVE_INFINITY);
    const next = refusing(0);
    const links = [hear, next.hear].map(async (own) => wire.link(await wire.serve(own), reconnect));
    await using client = createClient(fallback(await Promise.all(links)));
    expect(await client.call("pay")).toBe("pay");
    expect([heard, next.heard]).toEqual([["pay"], ["pay"]]);
  });

  test("is not sent again once it was cancelled", async () => {
    const { hear, heard } = refusing(Number.POSITIVE_INFINITY);
    const refused = deferred();
    const link = wire.link(
      await wire.serve(hear),
      { attempts: 1, delayMs: 1e6 },
      (_, direction) => direction === "received" && refused.resolve(),
    );
    await using client = createClient(link);
    const controller = new AbortController();
    const call = client.call("pay", [], { signal: controller.signal });
    await refused.promise;
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await client.call("other", [], { timeoutMs: 50 }).catch(() => {});
    await expect.poll(() => heard).toContain("other");
    expect(heard.filter((method) => method === "pay")).toHaveLength(1);
  });

  test("is sent again after a disconnect only if it is idempotent", async () => {
    const { hear, heard } = refusing(2, {
      ran: true,
      reason: "stopping",
      details: "the server ended the call before it was done",
    });
    await using client = createClient(wire.link(await wire.serve(hear), reconnect));
    await expect(client.call("pay")).rejects.toMatchObject({ code: -32006 });
    let gaps = 0;
    const options = { idempotent: true, onGap: () => gaps++ };
    expect(await client.call("read", [], options)).toBe("read");
    expect([heard, gaps]).toEqual([["pay", "read", "read"], 1]);
  });

  test("goes out again as one of a batch, too", async () => {
    let calls = 0;
    const port = await wire.serve((message) => {
      const answered = (JSON.parse(`[${message}]`) as { method: string; id: number }[])
        .flat()
        .map(({ method, id }) =>
          method === "pay" && calls++ === 0
            ? {
                jsonrpc: "2.0",
                error: {
                  code: -32006,
                  message: "Server is shutting down",
                  data: { ran: false, reason: "stopping" },
                },
                id,
              }
            : { jsonrpc: "2.0", result: method, id },
        );
      const text = JSON.stringify(message.startsWith("[") ? answered : answered[0]);
      return { text, closes: false };
    });
    type Methods = { readonly read: () => string; readonly pay: () => string };
    await using client = createClient<Methods>(wire.link(port, reconnect));
    expect(await client.batch(({ read, pay }) => [read(), pay()])).toEqual(["read", "pay"]);
    expect(calls).toBe(2);
  });
});

test.each(["tcp", "ws"] as const)(
  "a restart over %s loses no call, though another one still runs when it begins",
  async (wire) => {
    const ran: string[] = [];
    const running = deferred();
    const finish = deferred();
    const methods = {
      slow: async () => {
        running.resolve();
        await finish.promise;
        return "slow";
      },
      pay: (order: string) => ran.push(order),
    };
    const port = await ownPort();
    const serve = async (): Promise<Server> => {
      const server = createServer(methods, { log: silentLog });
      if (wire === "tcp") await serveSocket(server, { port });
      else await serveHttp(server, { port });
      return server;
    };
    const first = await serve();
    const reconnect = { delayMs: 1, attempts: 1_000, maxDelayMs: 10 };
    const link =
      wire === "tcp"
        ? tcpLink({ port, reconnect })
        : webSocketLink(`ws://127.0.0.1:${port}/rpc`, { reconnect });
    await using client = createClient<typeof methods>(link);
    const slow = client.call("slow");
    await running.promise;
    const closing = first.close();
    const paid = [client.call("pay", ["a"]), client.call("pay", ["b"])];
    finish.resolve();
    expect(await slow).toBe("slow");
    await closing;
    const second = await serve();
    onTestFinished(() => second.close());
    await Promise.all(paid);
    expect(ran.sort()).toEqual(["a", "b"]);
  },
);

describe.each([
  ["TCP", overTcp],
  ["WebSocket", overWebSocket],
])("over %s, a call that a server did not take which goes away", (_, wire) => {
  test("goes out again on the next connection, whatever it does", async () => {
    const { hear, heard } = goingAway(2);
    const link = wire.link(await wire.serve(hear), { attempts: 5, delayMs: 1 });
    await using client = createClient(link);
    expect(await client.call("pay")).toBe("pay");
    expect(heard).toEqual(["pay", "pay", "pay"]);
  });

  test("does not go out again forever", async () => {
    const { hear, heard } = goingAway(Number.POSITIVE_INFINITY);
    const link = wire.link(await wire.serve(hear), { attempts: 3, delayMs: 1 });
    await using client = createClient(link);
    await expect(client.call("pay")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    expect(heard).toHaveLength(4);
  });

  test("is reported as not run on links that do not reconnect", async () => {
    const { hear } = goingAway(1);
    await using client = createClient(wire.link(await wire.serve(hear), false));
    await expect(client.call("pay")).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: "the peer is shutting down; the call did not run",
    });
  });

  test("goes to another target of a gateway", async () => {
    const { hear, heard } = goingAway(1);
    const port = await wire.serve(hear);
    const staying = await Behind.start({ pay: () => "paid elsewhere" });
    const targets = {
      going: () => wire.link(port, { attempts: 0, delayMs: 1 }),
      staying: () => staying.link(),
    };
    const upstreams = { all: { targets, healthCheck: false } } as const;
    const client = clientOf(await start({ upstreams, routes: [{ method: "*", to: "all" }] }));
    while (heard.length === 0) expect(await client.call("pay")).toBe("paid elsewhere");
  });
});

/** A server that records the calls that ran. */
function journal(runs: string[]): Server {
  const server = createServer({ write: (text: string) => runs.push(text) }, { log: silentLog });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return server;
}

function post(text: string): string {
  const body = JSON.stringify({ jsonrpc: "2.0", method: "write", params: [text], id: 1 });
  const head = "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
  return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
}

describe("over HTTP, a request that is on its way to a server which closes", () => {
  test.each([
    ["a new connection", []],
    ["a connection that has been used", ["early"]],
  ])("on %s is answered, and does not run", async (_, before) => {
    const runs: string[] = [];
    const server = await serveHttp(journal(runs), { port: 0 });
    const connected = once(server.server, "connection");
    const client = new RawSocket({ port: server.port });
    await connected;
    for (const text of before) {
      const answered = once(client.socket, "data");
      client.send(post(text));
      await answered;
    }
    const closing = server.close();
    client.send(post("late"));
    const answers = await client.closed;
    await closing;
    expect(runs).toEqual(before);
    const last = answers.slice(answers.lastIndexOf("HTTP/1.1"));
    expect(last).toMatch(/^HTTP\/1.1 503 Service Unavailable\r\n/);
    expect(last).toMatch(/\r\nconnection: close\r\n/i);
    expect(last.endsWith(`\r\n\r\n${lastWord}`)).toBe(true);
  });
});

describe("clients that have just connected to a server that closes", () => {
  const count = 50;

  test("over HTTP are answered", async () => {
    const service = journal([]);
    const server = await serveHttp(service, { port: 0 });
    const connected = once(server.server, "connection");
    const clients = Array.from({ length: count }, () => new RawSocket({ port: server.port }));
    for (const client of clients) client.send(post("late"));
    await connected;
    await service.close();
    const answers = await Promise.all(clients.map(({ closed }) => closed));
    expect(answers.filter((answer) => !answer.startsWith("HTTP/1.1 "))).toEqual([]);
  });

  test("over TCP are answered", async () => {
    const connected = deferred();
    const onConnection = (): void => connected.resolve();
    const service = journal([]);
    const { port = 0 } = await serveSocket(service, { port: 0, onConnection });
    const clients = Array.from({ length: count }, () => new RawSocket({ port }));
    for (const client of clients) client.send('{"jsonrpc":"2.0","method":"write","id":1}\n');
    await connected.promise;
    await service.close();
    const answers = await Promise.all(clients.map(({ closed }) => closed));
    expect(answers.filter((answer) => !answer.endsWith(`${lastWord}\n`))).toEqual([]);
  });
});

test("a server that closes alone leaves its port to another at once", async () => {
  const service = journal([]);
  const first = await serveHttp(service, { port: await ownPort() });
  const closing = first.close();
  await using second = await serveHttp(service, { port: first.port });
  await closing;
  await using client = createClient(httpLink(second.url));
  expect(await client.call("write", ["to the second"])).toBe(1);
});
