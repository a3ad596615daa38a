import { execFile } from "node:child_process";
import dns from "node:dns";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { promisify } from "node:util";
import { createClient, type Link, method, type Outgoing, WireError } from "callwire";
import { httpLink } from "callwire/http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { httpLink as fetchLink } from "../../../src/transports/http/fetch-link.ts";
import { root } from "../../entries.ts";
import { ownPort } from "../../own-port.ts";
import { deferred } from "../contract/wire.ts";
import { serve } from "./wire.ts";

type LinkOptions = Parameters<typeof fetchLink>[1];

/** A server that does what the test says, whatever JSON-RPC requires. */
async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc`;
}

function answering(status: number, body: string | Uint8Array, type = "application/json") {
  return listen((_, response) => {
    response.writeHead(status, { "content-type": type });
    response.end(body);
  });
}

describe.each<[string, (url: string, options?: LinkOptions) => Link]>([
  ["the link of Node", httpLink],
  ["the link of everywhere else", fetchLink],
])("%s", (_, linkTo) => {
  type Methods = Record<"a" | "b", () => unknown> & Record<string, () => unknown>;

  function clientOf(url: string, options?: LinkOptions) {
    const link = linkTo(url, options);
    onTestFinished(() => link.close());
    return createClient<Methods>(link);
  }

  const call = (url: string, options?: LinkOptions) => clientOf(url, options).call("add", [2, 3]);

  describe("replies", () => {
    test("an HTML page of a proxy is its status", async () => {
      const url = await answering(502, "<html>Bad Gateway</html>", "text/html");
      await expect(call(url)).rejects.toMatchObject({
        name: "WireError",
        code: "HTTP_STATUS",
        status: 502,
        message: "the server answered with the status 502, not with JSON-RPC",
      });
    });

    test("a refused notification has the status only, because its reply is not read", async () => {
      const url = await answering(429, '{"jsonrpc":"2.0","error":{"code":7,"message":"m"}}');
      await expect(clientOf(url).notify("a")).rejects.toMatchObject({
        code: "HTTP_STATUS",
        message: "the server answered with the status 429",
      });
    });

    test("an error of JSON-RPC is that error, whatever the status", async () => {
      for (const status of [400, 401, 404, 429, 500, 503]) {
        const url = await answering(
          status,
          '{"jsonrpc":"2.0","error":{"code":7,"message":"m"},"id":null}',
        );
        await expect(call(url)).rejects.toMatchObject({ name: "RpcError", code: 7, message: "m" });
      }
    });

    test("JSON that is not JSON-RPC is reported by its bad status, and otherwise as a bad reply", async () => {
      const bad = { name: "WireError", code: "BAD_REPLY" };
      const url = await answering(500, '{"message":"oops"}');
      await expect(call(url)).rejects.toMatchObject({ code: "HTTP_STATUS", status: 500 });
      for (const body of ['{"message":"oops"}', "<html>", "", "[]", "null", '"text"']) {
        await expect(call(await answering(200, body))).rejects.toMatchObject(bad);
      }
      await expect(call(await answering(204, ""))).rejects.toMatchObject(bad);
    });

    test("a redirect is not followed", async () => {
      let followed = 0;
      const target = await listen((_, response) => {
        followed++;
        response.end();
      });
      const url = await listen((_, response) => {
        response.writeHead(307, { location: target });
        response.end();
      });
      await expect(call(url)).rejects.toMatchObject({ code: "HTTP_STATUS", status: 307 });
      expect(followed).toBe(0);
    });

    test("a reply that is too large is not read to its end", async () => {
      const url = await answering(200, "x".repeat(2000));
      await expect(call(url, { maxReplyBytes: 1000 })).rejects.toMatchObject({
        code: "BAD_REPLY",
        message: expect.stringContaining("1000"),
      });
      const endless = await listen((_, response) => {
        const write = (): void => {
          while (!response.destroyed && response.write("x".repeat(1000)));
        };
        response.on("drain", write);
        write();
      });
      await expect(call(endless, { maxReplyBytes: 1000 })).rejects.toMatchObject({
        code: "BAD_REPLY",
      });
    });

    test("a limit that is not a number is refused by name", async () => {
      for (const type of ["application/json", "text/event-stream"]) {
        const url = await answering(200, "data: {}\n\n", type);
        await expect(call(url, { maxReplyBytes: Number.NaN })).rejects.toMatchObject({
          code: "BAD_REPLY",
          message: expect.stringMatching(/(larger|longer) than NaN/),
        });
      }
    });

    test("a reply that is not UTF-8 is a bad reply", async () => {
      const bytes = Buffer.from('{"jsonrpc":"2.0","result":"\xff","id":1}', "latin1");
      await expect(call(await answering(200, bytes))).rejects.toMatchObject({ code: "BAD_REPLY" });
    });

    test("a batch that is refused as a whole fails each call", async () => {
      const url = await answering(
        200,
        '{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"},"id":null}',
      );
      const client = clientOf(url);
      const outcomes = await client.batchSettled((b) => [b.a(), b.b()]);
      for (const outcome of outcomes) {
        expect(outcome).toMatchObject({ status: "rejected", reason: { code: -32600 } });
      }
    });

    test("a notification needs no reply, and fails if it is refused", async () => {
      for (const [status, body] of [
        [204, ""],
        [200, ""],
        [202, ""],
        [200, "what?"],
      ] as const) {
        await clientOf(await answering(status, body)).notify("log");
      }
      const url = await answering(
        403,
        '{"jsonrpc":"2.0","error":{"code":7,"message":"m"},"id":null}',
      );
      await expect(clientOf(url).notify("log")).rejects.toMatchObject({
        code: "HTTP_STATUS",
        status: 403,
      });
    });
  });

  describe("requests", () => {
    interface Seen {
      readonly headers: Record<string, unknown>;
      readonly body: string;
    }

    async function recording(): Promise<{ url: string; seen: Seen[] }> {
      const seen: Seen[] = [];
      const url = await listen((request, response) => {
        let body = "";
        request.setEncoding("utf8");
        request.on("data", (chunk: string) => {
          body += chunk;
        });
        request.on("end", () => {
          seen.push({ headers: { ...request.headers }, body });
          const reply = JSON.parse(body);
          const one = ({ id }: { id: number }) => ({ jsonrpc: "2.0", result: null, id });
          response.end(JSON.stringify(Array.isArray(reply) ? reply.map(one) : one(reply)));
        });
      });
      return { url, seen };
    }

    test("a call has the headers for its type and what it accepts", async () => {
      const { url, seen } = await recording();
      await clientOf(url).call("é", { a: 1 });
      expect(seen[0]?.headers).toMatchObject({
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      });
      expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
        jsonrpc: "2.0",
        method: "é",
        params: { a: 1 },
        id: expect.any(Number),
      });
    });

    test("headers are values or a function, and those of a call win", async () => {
      const { url, seen } = await recording();
      await clientOf(url, { headers: { Authorization: "a", "X-One": "1" } }).call("m");
      let asked = 0;
      const lazy = clientOf(url, { headers: () => ({ authorization: `${++asked}` }) });
      await lazy.call("m");
      await lazy.call("m");
      const later = clientOf(url, {
        headers: async () => ({ authorization: "later", "x-one": "1" }),
      });
      await later.call("m", undefined, { headers: { "X-ONE": "2" } });
      expect(seen.map(({ headers }) => [headers["authorization"], headers["x-one"]])).toEqual([
        ["a", "1"],
        ["1", undefined],
        ["2", undefined],
        ["later", "2"],
      ]);
    });

    test("headers that cannot be read or sent fail the call with their error", async () => {
      const { url } = await recording();
      const failing = clientOf(url, { headers: () => Promise.reject(new Error("no token")) });
      await expect(failing.call("m")).rejects.toThrow("no token");
      const throwing = clientOf(url, {
        headers: () => {
          throw new Error("no token");
        },
      });
      await expect(throwing.call("m")).rejects.toThrow("no token");
      const invalid = clientOf(url, { headers: { "x-bad": "a\r\nb" } });
      await expect(invalid.call("m")).rejects.toThrow();
    });

    test("time and trace travel as headers, and in a batch with each call", async () => {
      const { url, seen } = await recording();
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      const trace = { traceparent, tracestate: "a=b" };
      const link = linkTo(url);
      onTestFinished(() => link.close());
      const client = createClient<Methods>(link, {
        use: [(next) => (request, context) => next({ ...request, ...trace }, context)],
      }).with({ timeoutMs: 5000 });
      await client.call("m");
      await client.batch((b) => [b.a(), b.b()]);
      expect(seen[0]?.headers).toMatchObject({ ...trace, "timeout-ms": "5000" });
      expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
        jsonrpc: "2.0",
        method: "m",
        id: expect.any(Number),
      });
      expect(seen[1]?.headers).not.toHaveProperty("timeout-ms");
      expect(JSON.parse(seen[1]?.body ?? "")).toMatchObject([
        { ...trace, timeoutMs: 5000 },
        { ...trace, timeoutMs: 5000 },
      ]);
    });

    test("a call of version 1.0 is written as such", async () => {
      const { url, seen } = await recording();
      const link = linkTo(url);
      onTestFinished(() => link.close());
      await createClient(link, { version: "1.0" }).call("m", [1]);
      expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
        method: "m",
        params: [1],
        id: expect.any(Number),
      });
    });
  });

  describe("broken connections", () => {
    test("a server that is not there is CONNECTION_FAILED", async () => {
      await expect(call(`http://127.0.0.1:${await ownPort()}/rpc`)).rejects.toMatchObject({
        name: "WireError",
        code: "CONNECTION_FAILED",
        cause: expect.any(Error),
      });
      // Not every network reports that a name is unknown, and some take long.
      const lookup = vi.spyOn(dns, "lookup").mockImplementation(((...args: unknown[]) => {
        const failed = Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
        const answer = args.at(-1) as (error: Error) => void;
        process.nextTick(answer, failed);
      }) as never);
      onTestFinished(() => lookup.mockRestore());
      await expect(call("http://no-such-host.invalid/rpc")).rejects.toMatchObject({
        code: "CONNECTION_FAILED",
      });
      expect(lookup).toHaveBeenCalled();
    });

    test("a server that dies in mid-call is CONNECTION_LOST", async () => {
      let socket: Socket | undefined;
      const url = await listen((request) => {
        socket = request.socket;
        socket.destroy();
      });
      await expect(call(url)).rejects.toMatchObject({ name: "WireError", code: "CONNECTION_LOST" });
    });

    test.each([
      ["JSON", "application/json", '{"jsonrpc":"2.0","resu'],
      [
        "events",
        "text/event-stream",
        'data: {"jsonrpc":"2.0","method":"$/progress"}\n\ndata: {"jso',
      ],
    ])("a server that dies in the middle of %s is CONNECTION_LOST", async (_, type, part) => {
      const url = await listen((_, response) => {
        response.writeHead(200, { "content-type": type });
        response.write(part, () => response.socket?.destroy());
      });
      await expect(call(url)).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    });

    test("events that end before the reply are CONNECTION_LOST", async () => {
      const url = await answering(200, ": nothing\n\n", "text/event-stream");
      await expect(call(url)).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    });

    test("a reply that is not HTTP is an error", async () => {
      const { createServer: createTcpServer } = await import("node:net");
      const server = createTcpServer((socket) => socket.end("hello\r\n\r\n")).listen(
        0,
        "127.0.0.1",
      );
      await new Promise((resolve) => server.once("listening", resolve));
      onTestFinished(() => void server.close());
      const { port } = server.address() as AddressInfo;
      await expect(call(`http://127.0.0.1:${port}/rpc`)).rejects.toMatchObject({
        name: "WireError",
        code: "BAD_REPLY",
      });
    });
  });

  describe("cancelling", () => {
    test("a call that is aborted closes its connection", async () => {
      const arrived = deferred<Socket>();
      const url = await listen((request) => arrived.resolve(request.socket));
      const controller = new AbortController();
      const reason = new Error("enough");
      const failed = clientOf(url).call("m", undefined, { signal: controller.signal });
      const socket = await arrived.promise;
      const closed = new Promise((resolve) => socket.once("close", resolve));
      controller.abort(reason);
      await expect(failed).rejects.toMatchObject({ code: "ABORTED", cause: reason });
      await closed;
    });

    test("a batch continues until the last of its calls is cancelled", async () => {
      const link = linkTo(await listen(() => {}));
      onTestFinished(() => link.close());
      const outgoing = [0, 1].map(
        (): Outgoing => ({
          cancel: undefined,
          item: () => undefined,
          progress: () => {},
          gap: () => {},
          headers: undefined,
          idempotent: false,
        }),
      );
      const requests = [1, 2].map((id) => ({ jsonrpc: "2.0" as const, method: "m", id }));
      const replies = link.sendBatch(requests, outgoing);
      const settled = Promise.allSettled(replies);
      const first = new WireError("ABORTED", "first");
      const second = new WireError("ABORTED", "second");
      outgoing[0]?.cancel?.(first);
      await expect(replies[0]).rejects.toBe(first);
      expect(outgoing[1]?.cancel).toBeDefined();
      outgoing[1]?.cancel?.(second);
      expect(await settled).toEqual([
        { status: "rejected", reason: first },
        { status: "rejected", reason: second },
      ]);
    });

    test("a signal that outlives many calls keeps nothing of them", async () => {
      const { url } = await serve({ add: (a: number, b: number) => a + b });
      const { signal } = new AbortController();
      let listeners = 0;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        listeners++;
        add(...args);
      };
      signal.removeEventListener = (...args: Parameters<typeof remove>) => {
        listeners--;
        remove(...args);
      };
      const client = clientOf(url);
      for (let i = 0; i < 20; i++) await client.call("add", [i, 1], { signal });
      expect(listeners).toBe(0);
    });

    test("closing fails open calls, and later ones", async () => {
      const arrived = deferred();
      const url = await listen(() => arrived.resolve());
      const client = clientOf(url);
      const open = client.call("m");
      const failed = expect(open).rejects.toMatchObject({ code: "CLOSED" });
      await arrived.promise;
      await client.close();
      await failed;
      await expect(client.call("m")).rejects.toMatchObject({ code: "CLOSED" });
      await client.close();
    });
  });

  test("progress and items that share a chunk with the reply all arrive", async () => {
    const event = (message: object) =>
      `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
    const url = await listen((request, response) => {
      let body = "";
      request.setEncoding("utf8");
      request.on("data", (chunk: string) => {
        body += chunk;
      });
      request.on("end", () => {
        const { id } = JSON.parse(body);
        response.writeHead(200, { "content-type": "Text/Event-Stream; charset=utf-8" });
        response.end(
          event({ method: "$/progress", params: { token: id, value: "half" } }) +
            event({ method: "$/stream", params: { id, value: 1 } }) +
            event({ method: "other/notification" }) +
            event({ method: "a/request", id: 5 }) +
            event({ method: "$/stream", params: { id, value: 2 } }) +
            event({ result: "done", id }),
        );
      });
    });
    const client = clientOf(url);
    const progress: unknown[] = [];
    const items: unknown[] = [];
    for await (const item of client.stream("m", [], {
      onProgress: (value) => progress.push(value),
    })) {
      items.push(item);
    }
    expect(progress).toEqual(["half"]);
    expect(items).toEqual([1, 2]);
  });

  test("streams in a batch find their readers", async () => {
    const { url } = await serve({
      report: method({}, async (params, call) => {
        call.progress(params);
        return params;
      }),
    });
    const link = linkTo(url);
    onTestFinished(() => link.close());
    const heard: unknown[] = [];
    const outgoing = ["a", "b"].map((name) => ({
      cancel: undefined,
      item: () => undefined,
      progress: (value: unknown) => heard.push([name, value]),
      gap: () => {},
      headers: undefined,
      idempotent: false,
    }));
    const requests = ["a", "b"].map((id) => ({
      jsonrpc: "2.0" as const,
      method: "report",
      params: [id],
      id,
    }));
    const replies = await Promise.all(link.sendBatch(requests, outgoing));
    expect(replies.map((reply) => reply?.result)).toEqual([["a"], ["b"]]);
    expect(heard).toEqual([
      ["a", ["a"]],
      ["b", ["b"]],
    ]);
  });
});

test("credentials in the URL are refused, because they would be dropped", () => {
  expect(() => httpLink("http://user:secret@localhost/rpc")).toThrow("headers");
});

test("a program ends when its calls are done, although the link is open", async () => {
  const { url } = await serve({ add: (a: number, b: number) => a + b });
  const program = `
    import { createClient } from "${root}src/index.ts";
    import { httpLink } from "${root}src/transports/http/index-node.ts";
    const client = createClient(httpLink(${JSON.stringify(url)}));
    console.log(await client.call("add", [2, 3]));
  `;
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: root, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    // A program in a command-line argument must be short.
    minify: true,
    external: ["undici"],
  });
  const run = promisify(execFile);
  const { stdout } = await run(
    process.execPath,
    ["--input-type=module", "-e", outputFiles[0]?.text ?? ""],
    { cwd: root },
  );
  expect(stdout).toBe("5\n");
});
