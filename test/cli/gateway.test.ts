import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { createClient, createServer, method } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { stdioLink } from "callwire/stdio";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { Failure } from "../../src/cli/failure.ts";
import { ConfigReader } from "../../src/cli/gateway/config.ts";
import { configJsonSchema } from "../../src/cli/gateway/schema.ts";
import { root } from "../entries.ts";
import { builtWithFolder } from "./folder.ts";
import { cli, finish, type Process, start } from "./process.ts";

const inFolder = builtWithFolder();

async function config(name: string, text: string): Promise<string> {
  const path = inFolder(name);
  await writeFile(path, text);
  return path;
}

async function startGateway(args: readonly string[]): Promise<Process & { url: string }> {
  const gateway = start(["gateway", ...args, "--port", "0", "--log", "pretty"]);
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const [url] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+\/rpc/);
  return Object.assign(gateway, { url });
}

/**
 * A server in this process. A health check waits two seconds for it, which a busy machine may take,
 * so most configs have no checks.
 */
async function serving(name: string): Promise<string> {
  const server = createServer({
    who: method({ summary: `Says ${name}` }, () => name),
    ask: method({}, (_, call) => call.peer.call("answer")),
  });
  const { url } = await serveHttp(server, { port: 0 });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return url;
}

describe("a config", () => {
  test("has the guards, log and metrics of its gateway, with files relative to its folder", async () => {
    const url = await serving("one");
    const { secret, record } = JSON.parse(
      (await finish(["keys", "create", "--id", "ci", "--json"])).stdout,
    );
    await config("keys.json", JSON.stringify([record]));
    const path = await config(
      "guarded.json",
      JSON.stringify({
        apiKeys: "keys.json",
        rateLimit: "3/m",
        log: "pretty",
        metrics: true,
        upstreams: { first: { url, healthCheck: false } },
        routes: [{ method: "*", to: "first" }],
      }),
    );
    const gateway = await startGateway([path]);
    const call = async (headers: Record<string, string>) =>
      fetch(gateway.url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: '{"jsonrpc":"2.0","id":1,"method":"who"}',
      });
    expect((await call({})).status).toBe(401);
    expect(await (await call({ "x-api-key": secret })).json()).toMatchObject({ result: "one" });
    expect((await call({ "x-api-key": secret })).status).toBe(200);
    expect((await call({ "x-api-key": secret })).status).toBe(429);
    const metrics = await fetch(new URL("/metrics", gateway.url));
    expect(await metrics.text()).toContain("callwire_");
  });

  test("passes files on that are longer than a message", async () => {
    const server = createServer({
      size: method({ params: z.object({ file: z.instanceof(Blob) }) }, async ({ file }) => {
        return (await file.arrayBuffer()).byteLength;
      }),
    });
    const { url } = await serveHttp(server, { port: 0 });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const upstreams = { first: { url, healthCheck: false } };
    const routes = [{ method: "*", to: "first" }];
    const gateway = await startGateway([
      await config("files.json", JSON.stringify({ upstreams, routes })),
    ]);
    const client = createClient(httpLink(gateway.url), { values: "rich" });
    onTestFinished(() => client.close());
    const file = new Blob([new Uint8Array(3_000_000)]);
    expect(await client.call("size", { file })).toBe(3_000_000);
  });

  test.each([
    [{ rateLimit: "many" }, ":1: rateLimit must be a rate"],
    [{ tls: { cert: "a.pem", key: "b.pem" } }, "a.pem"],
    [{ log: "loud" }, "log: "],
    [{ apiKeys: "missing.json" }, "missing.json"],
  ])("says what is wrong with %j", async (setting, line) => {
    const upstreams = { first: { url: "http://127.0.0.1:9/rpc", healthCheck: false } };
    const routes = [{ method: "*", to: "first" }];
    const path = await config("wrong.json", JSON.stringify({ ...setting, upstreams, routes }));
    const { code, stderr } = await finish(["gateway", path, "--port", "0"]);
    expect(stderr).toContain(line);
    expect(code).toBe(2);
  });

  test("joins servers, and SIGHUP reads it again", async () => {
    const [one, two] = await Promise.all([serving("one"), serving("two")]);
    const text = (url: string) =>
      JSON.stringify({
        title: "Joined",
        versions: ["1.0", "2.0"],
        upstreams: {
          first: { url, healthCheck: false },
          second: { urls: [two.replace("http", "ws")], healthCheck: false },
        },
        routes: [
          { method: "a/*", to: "first", rename: "*" },
          { method: "b/*", to: "second", rename: "*" },
        ],
      });
    const path = await config("joined.json", text(one));
    const gateway = await startGateway([path]);
    const client = createClient(httpLink(gateway.url));
    expect(
      await client.batchSettled((b) => [b["a/who"]?.(), b["b/who"]?.()] as never),
    ).toMatchObject([{ value: "one" }, { value: "two" }]);
    const { info, methods } = await client.call<{ info: object; methods: { name: string }[] }>(
      "rpc.discover",
    );
    expect(info).toMatchObject({ title: "Joined" });
    expect(methods.map(({ name }) => name)).toEqual(["a/ask", "a/who", "b/ask", "b/who"]);

    await config("joined.json", "{");
    gateway.child.kill("SIGHUP");
    await gateway.shown(/joined\.json:1: invalid JSON .*kept the previous config/, "stderr");
    expect(await client.call("a/who")).toBe("one");

    await config("joined.json", text(two));
    gateway.child.kill("SIGHUP");
    await gateway.shown(/reloaded \S*joined\.json/, "stderr");
    expect(await client.call("a/who")).toBe("two");

    gateway.child.kill("SIGTERM");
    expect((await gateway.exited).code).toBe(0);
  });

  test("is reloaded after the start if SIGHUP arrives while an upstream delays the start", async () => {
    const silent = createTcpServer((socket) => socket.on("error", () => {}));
    const asked = once(silent, "connection") as Promise<[Socket]>;
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void silent.close());
    const text = (url: string) =>
      JSON.stringify({ upstreams: { a: { url } }, routes: [{ method: "*", to: "a" }] });
    const { port } = silent.address() as AddressInfo;
    const path = await config("held.json", text(`tcp://127.0.0.1:${port}`));
    await using gateway = start(["gateway", path, "--port", "0"]);
    const [held] = await asked;
    expect(gateway.stdout).toBe("");
    await config("held.json", text(await serving("one")));
    gateway.child.kill("SIGHUP");
    held.destroy();
    await gateway.shown(/reloaded \S*held\.json/, "stderr");
    const [url = ""] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+\/rpc/);
    expect(await createClient(httpLink(url)).call("who")).toBe("one");
  });

  test("that cannot be used leaves the connections as they are, also for the next one", async () => {
    const program = await config("own.mjs", "export const pid = () => process.pid;");
    const text = (balance: unknown, title: string) =>
      JSON.stringify({
        title,
        upstreams: {
          other: { url: "http://127.0.0.1:1", healthCheck: false, balance },
          // A program that is slow to start is not called after it has failed a check.
          kept: {
            url: `stdio:${process.execPath} ${cli} serve ${program} --stdio`,
            healthCheck: false,
          },
        },
        routes: [{ method: "*", to: "kept" }],
      });
    const path = await config("kept.json", text("round-robin", "First"));
    const gateway = await startGateway([path]);
    const client = createClient(httpLink(gateway.url));
    const pid = await client.call("pid");

    await config("kept.json", text({ by: "param.user" }, "Second"));
    gateway.child.kill("SIGHUP");
    await gateway.shown(
      /kept\.json:1: upstreams\.other\.balance\.by: .*kept the previous config/,
      "stderr",
    );
    await config("kept.json", text({ by: "params.user" }, "Third"));
    gateway.child.kill("SIGHUP");
    await gateway.shown(/reloaded \S*kept\.json/, "stderr");
    expect(await client.call("rpc.discover")).toMatchObject({ info: { title: "Third" } });
    expect(await client.call("pid")).toBe(pid);
  });

  test("that was refused does not close the connections of the one before it", async () => {
    const program = await config("pid.mjs", "export const pid = () => process.pid;");
    const url = `stdio:${process.execPath} ${cli} serve ${program} --stdio`;
    const route = { method: "pid", to: "kept" };
    const text = (url: string, routes: readonly object[]) =>
      JSON.stringify({ upstreams: { kept: { url, healthCheck: false } }, routes });
    const path = await config("back.json", text(url, [route]));
    const gateway = await startGateway([path]);
    const client = createClient(httpLink(gateway.url));
    const pid = await client.call("pid");
    await config("back.json", text(`${url} --name other`, [route, route]));
    gateway.child.kill("SIGHUP");
    await gateway.shown(/"pid" is defined twice; kept the previous config/, "stderr");
    await config("back.json", text(url, [route]));
    gateway.child.kill("SIGHUP");
    await gateway.shown(/reloaded \S*back\.json/, "stderr");
    expect(await client.call("pid")).toBe(pid);
  });

  test.each(["mjs", "ts"])("that is a module (%s) is reloaded with its changes", async (ending) => {
    const [one, two] = await Promise.all([serving("one"), serving("two")]);
    const text = (url: string, more = "") =>
      `${ending === "ts" ? 'import { defineGateway } from "callwire/gateway";' : "const defineGateway = (config) => config;"}
       export default defineGateway({
         upstreams: { only: { url: ${JSON.stringify(url)}, healthCheck: false } },
         routes: [{ method: "*", to: "only" }],${more}
       });`;
    const name = `again.${ending}`;
    const path = await config(name, text(one));
    const gateway = await startGateway([path]);
    const client = createClient(httpLink(gateway.url));
    expect(await client.call("who")).toBe("one");

    await config(name, "export default {");
    gateway.child.kill("SIGHUP");
    await gateway.shown(/could not be loaded: .*kept the previous config/, "stderr");
    expect(await client.call("who")).toBe("one");

    await config(name, text(two, 'title: "New", limits: { maxBatch: 1 }'));
    gateway.child.kill("SIGHUP");
    await gateway.shown(/reloaded \S+; restart to change limits\n/, "stderr");
    expect(await client.call("who")).toBe("two");
    expect(await client.call("rpc.discover")).toMatchObject({ info: { title: "New" } });
  });

  test("may be a module with middleware", async () => {
    const url = await serving("one");
    const path = await config(
      "gateway.mjs",
      `export default {
         upstreams: { one: { url: ${JSON.stringify(url)}, healthCheck: false } },
         routes: [{ method: "*", to: "one" }],
         use: [(next) => async (request, context) => {
           const reply = await next(request, context);
           return { ...reply, result: [reply.result, "seen"] };
         }],
       };`,
    );
    const gateway = await startGateway([path]);
    expect(await createClient(httpLink(gateway.url)).call("who")).toEqual(["one", "seen"]);
    gateway.child.kill("SIGHUP");
    await gateway.shown(/reloaded \S+; restart to change `use`\n/, "stderr");
  });

  test.each([
    [
      "a setting that is none",
      '{\n "upstreams": {\n  "a": { "url": "http://x",\n   "prot": 1 } },\n "routes": [] }',
      4,
      "upstreams.a.prot: unknown setting",
    ],
    [
      "a value of the wrong type",
      '{\n "upstreams": { "a": { "url": "http://x" } },\n "routes": [\n  { "method": "*", "to": "a" },\n  { "method": 5, "to": "a" } ] }',
      5,
      "routes.1.method",
    ],
    [
      "an upstream without an address",
      '{ "upstreams": {\n "a": {} }, "routes": [{ "method": "*", "to": "a" }] }',
      2,
      'needs one of "url", "urls" and "durable"',
    ],
    [
      "a route that leads nowhere",
      '{ "upstreams": { "a": { "url": "http://x" } },\n "routes": [ {\n "method": "*",\n "to": "b" } ] }',
      4,
      'names an unknown upstream, "b"',
    ],
    [
      "an address that is none",
      '{ "upstreams": {\n "a": {\n "urls": ["http://x",\n "gopher://y"] } },\n "routes": [{ "method": "*", "to": "a" }] }',
      4,
      '"gopher://y" is not an address; addresses are http://',
    ],
    [
      "a secret that is not there",
      '{ "upstreams": { "a": { "url": "http://x",\n "headers": { "authorization": "Bearer $NO_SUCH_TOKEN" } } },\n "routes": [{ "method": "*", "to": "a" }] }',
      2,
      "upstreams.a.headers.authorization needs the environment variable NO_SUCH_TOKEN",
    ],
    [
      "a balance that is none",
      '{ "upstreams": { "a": { "url": "http://x",\n "balance": "fair" } },\n "routes": [{ "method": "*", "to": "a" }] }',
      2,
      'upstreams.a.balance: must be "round-robin", "least-in-flight" or {"by": "params.user"}',
    ],
    [
      "a health check that is none",
      '{ "upstreams": { "a": { "url": "http://x",\n "healthCheck": true } },\n "routes": [{ "method": "*", "to": "a" }] }',
      2,
      'upstreams.a.healthCheck: must be false or {"method": "ping", "everyMs": 10000, "timeoutMs": 2000}',
    ],
    [
      "a balance by what does not exist",
      '{ "upstreams": { "a": { "url": "http://x",\n "balance": {\n "by": "param.user" } } },\n "routes": [{ "method": "*", "to": "a" }] }',
      3,
      'upstreams.a.balance.by: must be "params.…", "principal" or "header.…", not "param.user"',
    ],
    [
      "headers for a wire that has none",
      '{ "upstreams": { "a": { "urls": ["ws://x", "tcp://127.0.0.1:1"],\n "headers": { "x-a": "1" } } },\n "routes": [{ "method": "*", "to": "a" }] }',
      2,
      "upstreams.a.headers: do not work with tcp: addresses; they are for HTTP, WebSocket and NATS",
    ],
    [
      "a header that is none",
      '{ "upstreams": { "a": { "url": "http://x", "headers": {\n "x-a": "1",\n "x b": "1" } } },\n "routes": [{ "method": "*", "to": "a" }] }',
      3,
      "upstreams.a.headers.x b: is not a valid header",
    ],
    [
      "a header that is not for a config to say",
      '{ "upstreams": { "a": { "url": "http://x", "headers": {\n "x-a": "1",\n "Content-Length": "1" } } },\n "routes": [{ "method": "*", "to": "a" }] }',
      3,
      "upstreams.a.headers.Content-Length: is set by the wire and cannot be changed",
    ],
    [
      "a header of a caller that is not for another wire",
      '{ "upstreams": { "a": { "url": "http://x", "forwardHeaders": [\n "x-a",\n "Connection"] } },\n "routes": [{ "method": "*", "to": "a" }] }',
      3,
      "upstreams.a.forwardHeaders.1: is set by the wire and cannot be changed",
    ],
    [
      "two upstreams of one name",
      '{ "upstreams": {\n "a": { "url": "http://x" },\n "\\u0061": { "url": "http://y" } },\n "routes": [{ "method": "*", "to": "a" }] }',
      3,
      "upstreams.a: duplicate name",
    ],
    [
      "a comma too much",
      '{\n "upstreams": {},\n}',
      3,
      'invalid JSON (column 1: expected a name in double quotes, not "}")',
    ],
    [
      "a comma too much in a list",
      '{ "upstreams": {},\n "routes": [\n  1,\n  ] }',
      4,
      'invalid JSON (column 3: expected a value, not "]")',
    ],
    [
      "a comma that is missing",
      '{\n "upstreams": {}\n "routes": [] }',
      3,
      'invalid JSON (column 2: expected "," or "}", not "\\"routes\\"")',
    ],
    ["a comment", '{\n // all\n "upstreams": {} }', 2, 'not "//"'],
    [
      "a text without an end",
      '{\n "title": "Joined,\n "upstreams": {} }',
      2,
      "(column 11: a string that is not closed or",
    ],
    [
      "an escape that is none",
      '{\n "title": "\\x" }',
      2,
      "(column 11: a string that is not closed or has an invalid escape)",
    ],
    ["an end too early", '{\n "upstreams":\n', 3, "expected a value, not the end"],
    ["something after its end", "{ }\n }", 2, 'expected the end, not "}"'],
  ])("with %s is refused, and the line is named", async (_, text, line, sentence) => {
    const path = await config("bad.json", text);
    const refused = await new ConfigReader().read(path).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Failure);
    const { message, exitCode } = refused as Failure;
    expect(message).toContain(`${path}:${line}: `);
    expect(message).toContain(sentence);
    expect(exitCode).toBe(2);
  });

  test.each([
    [
      "a star in the midst of a name",
      '{ "upstreams": { "a": { "url": "http://127.0.0.1:1" } },\n "routes": [\n  { "method": "*", "to": "a" },\n  { "method": "a*b", "to": "a" } ] }',
      4,
      'the route "a*b": method may have one star, at its end',
    ],
    [
      "a route that stands twice",
      '{ "upstreams": { "a": { "url": "http://127.0.0.1:1" } },\n "routes": [\n  { "method": "x", "to": "a" },\n  { "method": "x", "to": "a" } ] }',
      3,
      'the route "x" is defined twice',
    ],
  ])(
    "with %s is refused by the command too, and the line is named",
    async (_, text, line, sentence) => {
      const path = await config("bad.json", text);
      const { code, stderr } = await finish(["gateway", path]);
      expect(stderr).toContain(`${path}:${line}: `);
      expect(stderr).toContain(sentence);
      expect(code).toBe(2);
    },
  );

  test("in which two upstreams offer the same is refused, and the line of a route is named", async () => {
    const [a, b] = await Promise.all([serving("one"), serving("two")]);
    const path = await config(
      "same.json",
      `{ "upstreams": ${JSON.stringify({ a: { url: a }, b: { url: b } })},
         "routes": [
           { "method": "*", "to": "a" },
           { "method": "*", "to": "b" }
         ] }`,
    );
    const { code, stderr } = await finish(["gateway", path, "--port", "0"]);
    expect(stderr).toMatch(
      /same\.json:[34]: routes\.[01]: "(ask|who)" is offered by the upstreams "[ab]" and "[ab]"; /,
    );
    expect(code).toBe(2);
  });

  test("has a published schema", async () => {
    const published = JSON.parse(await readFile(join(root, "docs", "gateway.schema.json"), "utf8"));
    expect(published).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });

  test("without a secret that it needs from the environment is refused", async () => {
    const path = await config(
      "secret.json",
      '{ "upstreams": { "a": { "url": "http://x", "headers": { "authorization": "Bearer $NO_SUCH_TOKEN" } } }, "routes": [{ "method": "*", "to": "a" }] }',
    );
    const { code, stderr } = await finish(["gateway", path]);
    expect(stderr).toContain("needs the environment variable NO_SUCH_TOKEN");
    expect(code).toBe(2);
  });
});

describe("a bridge", () => {
  const demo = `stdio:${process.execPath} ${cli} demo --stdio`;

  test("from WebSocket to a program, which can call back", async () => {
    const gateway = await startGateway(["--to", demo]);
    const client = createClient(webSocketLink(gateway.url.replace("http", "ws")));
    onTestFinished(() => client.close());
    expect(await client.call("math/add", [2, 3])).toBe(5);
    const items: unknown[] = [];
    for await (const item of client.stream("math/count", { to: 2 })) items.push(item);
    expect(items).toEqual([0, 1, 2]);
  });

  test("from stdio to HTTP", async () => {
    const url = await serving("far");
    const client = createClient(
      stdioLink(process.execPath, [cli, "gateway", "--to", url, "--stdio"], { stderr: "ignore" }),
    );
    onTestFinished(() => client.close());
    expect(await client.call("who")).toBe("far");
  });

  test("from WebSocket to WebSocket carries calls in both directions", async () => {
    const gateway = await startGateway(["--to", (await serving("both")).replace("http", "ws")]);
    const service = createServer({ answer: () => 42 });
    const client = createClient(webSocketLink(gateway.url.replace("http", "ws"), { service }));
    onTestFinished(() => client.close());
    expect(await client.call("ask")).toBe(42);
  });

  test("takes a call back that is cancelled right behind it, open or still to be opened", async () => {
    const states: string[] = [];
    const server = createServer({
      states: () => states,
      work: method({}, async (_, { signal }) => {
        states.push("begun");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        states.push("cancelled");
      }),
    });
    const { url } = await serveHttp(server, { port: 0 });
    onTestFinished(() => server.close({ drainMs: 0 }));
    await using gateway = start(["gateway", "--to", url.replace("http", "ws"), "--stdio"]);
    const write = (...messages: object[]) => {
      const lines = messages.map((each) => JSON.stringify({ jsonrpc: "2.0", ...each }));
      gateway.child.stdin?.write(`${lines.join("\n")}\n`);
    };
    const cancelled = (id: number) => {
      const cancel = { method: "$/cancelRequest", params: { id } };
      write({ method: "work", id }, cancel);
      return gateway.shown(new RegExp(`-32800.*"id":${id}}`));
    };
    await cancelled(1);
    write({ method: "states", id: 2 });
    await gateway.shown(/"result":\[\],"id":2/);
    await cancelled(3);
    let result = "";
    // A call that was cancelled before it was forwarded did not start; one that started may be asked about before it ends.
    for (let id = 4; !["[]", '["begun","cancelled"]'].includes(result); id++) {
      write({ method: "states", id });
      [, result = ""] = await gateway.shown(new RegExp(`"result":(\\[.*\\]),"id":${id}}`));
    }
  });
});

test("an invalid address is refused before anything is served", async () => {
  const { code, stderr } = await finish(["gateway", "--to", "nats://127.0.0.1"]);
  expect(stderr).toBe(
    'callwire: "nats://127.0.0.1" is not an address: the subject is missing; write nats://127.0.0.1/rpc\n',
  );
  expect(code).toBe(2);
});

test.each([
  [[], 'gateway needs a config or --to; see "callwire gateway --help"'],
  [["a.json", "--to", "http://x"], "--to cannot be combined with a config; remove one"],
  [["a.json", "b.json"], 'unexpected argument "b.json"; see "callwire gateway --help"'],
])("needs a config or an address: %j", async (args, sentence) => {
  const { code, stderr } = await finish(["gateway", ...args]);
  expect(stderr).toBe(`callwire: ${sentence}\n`);
  expect(code).toBe(2);
});

test("a config that is not there is reported as any other file", async () => {
  const { code, stderr } = await finish(["gateway", "none.json"]);
  expect(stderr).toBe("callwire: none.json: no such file\n");
  expect(code).toBe(2);
});
