import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  connect,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
} from "@nats-io/transport-node";
import { createClient, createServer } from "callwire";
import { httpLink } from "callwire/http";
import { serveNats } from "callwire/nats";
import { serveDurable } from "callwire/nats/jetstream";
import { webSocketLink } from "callwire/ws";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { methods } from "../../examples/quickstart/methods.ts";
import { isFull } from "../full.ts";
import { describeWith } from "../services.ts";
import { startCluster } from "../transports/nats/cluster.ts";
import { type NatsServer, startNats } from "../transports/nats/nats-server.ts";
import { operatorSetup } from "./nats-credentials.ts";
import { build, finish, start } from "./process.ts";

/** A file for one test. */
async function written(name: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "callwire-cli-nats-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

function pem(name: string): string {
  return fileURLToPath(new URL(`../fixtures/tls/test-only-${name}.pem`, import.meta.url));
}

describeWith(["nats-server"], "addresses of NATS", () => {
  let nats: NatsServer;
  let connection: NatsConnection;
  let url: string;

  beforeAll(async () => {
    await build();
    nats = await startNats('authorization: { user: us, password: "p@ss" }');
    connection = await connect({ port: nats.port, user: "us", pass: "p@ss" });
    await serveNats(createServer(methods), connection, { subject: "shop.rpc" });
    url = `nats://us:p%40ss@127.0.0.1:${nats.port}/shop.rpc`;
  });
  afterAll(async () => {
    await connection.close();
    await nats.stop();
  });

  test("a call, a stream and a description go through", async () => {
    expect((await finish(["call", url, "math/add", "a=2", "b=3"])).stdout).toBe("5\n");
    const streamed = await finish(["stream", url, "math/count", "to=2"]);
    expect(streamed.stdout.trim().split("\n")).toEqual(["0", "1", "2"]);
    expect((await finish(["discover", url])).stdout).toContain("math/add");
  });

  test("a gateway stores the notifications of a durable upstream, and refuses its calls", async () => {
    const server = await startNats('jetstream: { store_dir: "$FOLDER" }');
    onTestFinished(() => server.stop());
    const own = await connect({ port: server.port });
    onTestFinished(() => own.close());
    const orders: string[] = [];
    let arrived = (): void => {};
    const both = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const shop = createServer({
      order: {
        placed: ({ order }: { order: string }) => {
          if (orders.push(order) === 2) arrived();
        },
      },
    });
    await serveDurable(shop, own, { subject: "jobs", partitions: 2 });
    const queue = {
      url: `nats://127.0.0.1:${server.port}/jobs`,
      partitions: 2,
      key: "params.order",
    };
    const config = await written(
      "durable.json",
      JSON.stringify({
        upstreams: { jobs: { durable: queue } },
        routes: [{ method: "order/*", to: "jobs" }],
      }),
    );
    const gateway = start(["gateway", config, "--port", "0"]);
    onTestFinished(() => gateway[Symbol.asyncDispose]());
    const [front = ""] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+\/rpc/);
    for (const order of ["7", "8"]) {
      expect((await finish(["notify", front, "order/placed", `order="${order}"`])).code).toBe(0);
    }
    await both;
    expect(orders.sort()).toEqual(["7", "8"]);
    const called = await finish(["call", front, "order/placed", 'order="9"']);
    expect(called.stderr).toContain('"reason":"unsupported"');
    const wrong = await written(
      "wrong.json",
      JSON.stringify({
        upstreams: { jobs: { durable: { url: "http://127.0.0.1/rpc" } } },
        routes: [{ method: "*", to: "jobs" }],
      }),
    );
    expect((await finish(["gateway", wrong])).stderr).toContain(
      "upstreams.jobs.durable.url: must begin with nats://",
    );
  });

  test("serve --nats serves a module as a worker", async () => {
    const module = await written("worker.mjs", "export const double = (n) => 2 * n;");
    const served = start([
      "serve",
      module,
      "--port",
      "0",
      "--nats",
      url.replace("shop.rpc", "two"),
    ]);
    onTestFinished(() => served[Symbol.asyncDispose]());
    const [line] = await served.shown(/NATS.*/);
    expect(line).toContain(`nats://127.0.0.1:${nats.port}/two`);
    expect(line).not.toContain("p%40ss");
    expect((await finish(["call", url.replace("shop.rpc", "two"), "double", "4"])).stdout).toBe(
      "8\n",
    );
    const wrong = await finish([
      "serve",
      module,
      "--port",
      "0",
      "--nats",
      "nats://127.0.0.1:1/two",
    ]);
    expect(wrong.stderr).toContain("--nats: cannot connect to nats://127.0.0.1:1");
  });

  test("mistakes in the address are reported", async () => {
    const without = await finish(["call", "nats://127.0.0.1", "math/add"]);
    expect(without).toMatchObject({ code: 2 });
    expect(without.stderr).toContain("the subject is missing");
    const nobody = await finish(["call", url.replace("shop.rpc", "other"), "math/add", "2", "3"]);
    expect(nobody.code).not.toBe(0);
    expect(nobody.stderr).toContain(
      "no worker listens under the subject other, so math/add was not delivered",
    );
    const refused = await finish(["call", "nats://127.0.0.1:1/rpc", "math/add"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("cannot connect to nats://127.0.0.1:1");
  });

  test("a gateway refuses an invalid subject, and several schemes, before it starts", async () => {
    const said = "the subject must be letters, digits, - and _ with dots between, not ";
    const host = `nats://127.0.0.1:${nats.port}`;
    const wrong: Record<string, string> = {
      [`${host}/rpc/`]: `${said}"rpc/"`,
      [`${host}/a/b`]: `${said}"a/b"`,
      [`${host}/a.*`]: `${said}"a.*"`,
      [`${host}/a.>`]: `${said}"a.>"`,
      [`${host}/a..b`]: `${said}"a..b"`,
      [`${host}/rp c`]: `${said}"rp c"`,
      [`${host},${host}/rpc`]:
        "nats:// must be given once, before all hosts, as in nats://a:4222,b:4222/",
    };
    const refused = async ([address, sentence]: readonly [string, string]) => {
      const { code, stdout, stderr } = await finish(["gateway", "--to", address, "--port", "0"]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`${JSON.stringify(address)} is not an address: ${sentence}`);
      expect(stderr.trim().split("\n")).toHaveLength(1);
    };
    await Promise.all(Object.entries(wrong).map(refused));
    const config = `{\n"upstreams": { "a":\n{ "url": "${host}/rpc/" } },\n"routes": [{ "method": "*", "to": "a" }]\n}`;
    const path = await written("gateway.json", config);
    const { code, stderr } = await finish(["gateway", path, "--port", "0"]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `${path}:3: upstreams.a.url: "${host}/rpc/" is not an address: ${said}"rpc/"`,
      ),
    });
  });

  test("verbs that send any text refuse it before anything is sent, and run no method", async () => {
    let opened = 0;
    const door = createServer({ open: () => ++opened });
    await serveNats(door, connection, { subject: "door" });
    const doorUrl = url.replace("shop.rpc", "door");
    for (const args of [
      ["inspect", doorUrl],
      ["batch", doorUrl, await written("batch.json", '[{"jsonrpc":"2.0","method":"x","id":1}]')],
      ["conform", doorUrl],
      ["audit", doorUrl],
    ]) {
      const { code, stdout, stderr } = await finish(args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("NATS addresses do not work with batch, inspect, conform and audit");
      expect(stderr).not.toContain("p%40ss");
    }
    // Anything sent before would have arrived before this.
    await connection.flush();
    expect(opened).toBe(0);
    await door.close();
  });

  test("no message shows a password", async () => {
    for (const args of [
      ["call", url.replace("shop.rpc", "other"), "math/add", "2", "3"],
      ["call", url, "math/nothing"],
      ["call", `${url}?no=setting`, "math/add"],
      ["discover", url.replace("shop.rpc", "other")],
      ["bench", url, "math/add", "2", "3", "--duration", "0.1s"],
      ["top", url],
      ["record", url, "--to", "nowhere"],
      ["mcp", url, "tools"],
    ]) {
      const { stdout, stderr } = await finish(args);
      expect(stdout + stderr, args.join(" ")).not.toMatch(/p%40ss|p@ss|us:/);
    }
    const { stderr } = await finish(["call", url.replace("shop.rpc", "other"), "math/add"]);
    expect(stderr).toContain(`nats://***@127.0.0.1:${nats.port}/other: no worker listens`);
  });

  test("one running server of several is enough, and the environment may have the login", async () => {
    const several = `nats://us:p%40ss@127.0.0.1:1,127.0.0.1:${nats.port}/shop.rpc`;
    expect((await finish(["call", several, "math/add", "a=2", "b=3"])).stdout).toBe("5\n");
    const plain = `nats://127.0.0.1:${nats.port}/shop.rpc`;
    const env = { NATS_USER: "us", NATS_PASSWORD: "p@ss" };
    expect((await finish(["call", plain, "math/add", "a=2", "b=3"], { env })).stdout).toBe("5\n");
    const refused = await finish(["call", plain, "math/add", "a=2", "b=3"]);
    expect(refused).toMatchObject({ code: 3 });
    expect(refused.stderr).toContain("Authorization Violation");
    const wrong = [
      "nats://a,/rpc",
      "nats://a:99999/rpc",
      "nats://a:/rpc",
      "nats:///rpc",
      "nats:rpc",
    ];
    for (const address of wrong) {
      const { code, stderr } = await finish(["call", address, "math/add"]);
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching("is no") });
    }
  });

  /** A nats-server of this kind, with a worker, and the call that reaches it. */
  async function another(config: string, options: NodeConnectionOptions): Promise<number> {
    const server = await startNats(config);
    onTestFinished(() => server.stop());
    const own = await connect({ servers: `localhost:${server.port}`, ...options });
    onTestFinished(() => own.close());
    const worker = createServer(methods);
    onTestFinished(() => worker.close());
    await serveNats(worker, own, { subject: "rpc" });
    return server.port;
  }

  const add = (address: string, env = {}) =>
    finish(["call", address, "math/add", "a=2", "b=3"], { env });

  test("a token gives access to its server", async () => {
    const token = await another('authorization: { token: "t0ken" }', { token: "t0ken" });
    expect((await add(`nats://t0ken@127.0.0.1:${token}/rpc`)).stdout).toBe("5\n");
    const withToken = await add(`nats://127.0.0.1:${token}/rpc`, { NATS_TOKEN: "t0ken" });
    expect(withToken.stdout).toBe("5\n");
    const besideUser = { NATS_TOKEN: "t0ken", NATS_USER: "somebody" };
    expect((await add(`nats://127.0.0.1:${token}/rpc`, besideUser)).stdout).toBe("5\n");
    const asUser = await add(`nats://127.0.0.1:${token}/rpc`, { NATS_USER: "t0ken" });
    expect(asUser.stdout).toBe("5\n");
    // If TLS is required, nothing is sent to a nats-server without TLS.
    const plain = await add(`nats://t0ken@127.0.0.1:${token}/rpc?tls`);
    expect(plain).toMatchObject({ code: 3, stdout: "" });
  });

  test("credentials open what they are for", async () => {
    const { config, creds } = operatorSetup();
    const authenticator = credsAuthenticator(Buffer.from(creds));
    const guarded = await another(config, { authenticator });
    const file = await written("user.creds", creds);
    expect((await add(`nats://127.0.0.1:${guarded}/rpc?creds=${file}`)).stdout).toBe("5\n");
    const withCreds = await add(`nats://127.0.0.1:${guarded}/rpc`, { NATS_CREDS: file });
    expect(withCreds.stdout).toBe("5\n");
    const none = await add(`nats://127.0.0.1:${guarded}/rpc?creds=${file}.not`);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be read") });
  });

  test("certificates open what they are for", async () => {
    const tls = `tls: { cert_file: "${pem("cert")}", key_file: "${pem("key")}" }`;
    const secured = await another(tls, { tls: { caFile: pem("cert") } });
    const trusting = await add(`nats://localhost:${secured}/rpc?ca=${pem("cert")}`);
    expect(trusting.stdout).toBe("5\n");
    const fromEnvironment = await add(`nats://localhost:${secured}/rpc`, { NATS_CA: pem("cert") });
    expect(fromEnvironment.stdout).toBe("5\n");
    expect(await add(`nats://localhost:${secured}/rpc`)).toMatchObject({ code: 3, stdout: "" });
    const mutual = `tls: { cert_file: "${pem("cert")}", key_file: "${pem("key")}", ca_file: "${pem("cert")}", verify: true }`;
    const own = { caFile: pem("cert"), certFile: pem("cert"), keyFile: pem("key") };
    const strict = `nats://localhost:${await another(mutual, { tls: own })}/rpc?ca=${pem("cert")}`;
    expect((await add(`${strict}&cert=${pem("cert")}&key=${pem("key")}`)).stdout).toBe("5\n");
    expect(await add(strict)).toMatchObject({ code: 3, stdout: "" });
  });

  test("a gateway needs the files of an address when it starts, and no longer afterwards", async () => {
    const plain = await another("", {});
    const address = `nats://127.0.0.1:${plain}/rpc`;
    for (const query of ["ca=nope.pem", "creds=nope"]) {
      const missing = await finish(["gateway", "--to", `${address}?${query}`, "--port", "0"]);
      expect(missing).toMatchObject({ code: 2, stdout: "" });
      expect(missing.stderr).toMatch(
        /^callwire: "nats:.*" is not an address: nope.* cannot be read.*\n$/,
      );
    }
    const { creds } = operatorSetup();
    const file = await written("user.creds", creds);
    const to = `${address}?creds=${file}`;
    await using gateway = start(["gateway", "--to", to, "--port", "0"]);
    const [front = ""] = await gateway.shown(/127\.0\.0\.1:\d+/);
    await rm(file);
    // Behind the gateway each connection has its own link, which is opened now.
    const client = createClient(webSocketLink(`ws://${front}/rpc/ws`));
    onTestFinished(() => client.close());
    const refused = { code: -32009, data: { ran: false, reason: "unavailable" } };
    await expect(client.call("math/add")).rejects.toMatchObject(refused);
    expect(gateway.stderr).not.toContain("    at ");
  });

  test("a server that refuses every connection is reported with the reason, and delays neither calls nor closing", async () => {
    const strict = await startNats(
      `tls: { cert_file: "${pem("cert")}", key_file: "${pem("key")}", ca_file: "${pem("cert")}", verify: true }`,
    );
    onTestFinished(() => strict.stop());
    const address = `nats://localhost:${strict.port}/rpc?ca=${pem("cert")}`;
    await using gateway = start(["gateway", "--to", address, "--port", "0"]);
    await gateway.shown(/"a target is not available".*"reason":"cannot connect to nats:/, "stderr");
    const [front = ""] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+/);
    const client = createClient(httpLink(`${front}/rpc`));
    onTestFinished(() => client.close());
    await expect(client.call("math/add")).rejects.toMatchObject({ code: -32009 });
    gateway.child.kill("SIGTERM");
    expect((await gateway.exited).code).toBe(0);
  });

  // It takes the five seconds that a connection may take.
  if (isFull)
    test("a server that does not reply is abandoned", async () => {
      const silent = createTcpServer((socket) => socket.on("error", () => {}));
      await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void silent.close());
      const { port } = silent.address() as AddressInfo;
      const none = await finish(["call", `nats://127.0.0.1:${port}/rpc`, "math/add"]);
      expect(none).toMatchObject({
        code: 3,
        stderr: expect.stringContaining("no reply from nats-server"),
      });
    });

  test("a gateway brings HTTP to NATS", async () => {
    await using gateway = start(["gateway", "--to", url, "--port", "0"]);
    const [front = ""] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+/);
    const client = createClient<typeof methods>(httpLink(`${front}/rpc`));
    expect(await client.api.math.add({ a: 2, b: 3 })).toBe(5);
    await client.close();
  });

  test("a gateway takes several hosts, and continues when two of three nodes are gone", async () => {
    const nodes = await startCluster();
    onTestFinished(async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    });
    const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`);
    for (const servers of [hosts, hosts.toReversed()]) {
      const worker = await connect({ servers, noRandomize: true, reconnectTimeWait: 50 });
      onTestFinished(() => worker.close());
      await serveNats(createServer(methods), worker, { subject: "rpc" });
    }
    await using gateway = start(["gateway", "--to", `nats://${hosts.join()}/rpc`, "--port", "0"]);
    const [front = ""] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+/);
    const client = createClient<typeof methods>(httpLink(`${front}/rpc`));
    onTestFinished(() => client.close());
    const adds = () =>
      Promise.all(Array.from({ length: 20 }, () => client.api.math.add({ a: 2, b: 3 })));
    await expect.poll(() => adds().catch(() => [])).toHaveLength(20);
    for (const node of nodes.slice(0, 2)) {
      await node.kill();
      await expect.poll(() => adds().catch(() => [])).toHaveLength(20);
    }
  });

  if (isFull)
    test("a gateway reconnects after NATS refused it for a while", async () => {
      let testNats = await startNats();
      onTestFinished(() => testNats.stop());
      const { port } = testNats;
      const serve = async () => {
        const worker = await connect({ port });
        onTestFinished(() => worker.close());
        await serveNats(createServer(methods), worker, { subject: "rpc" });
        return worker;
      };
      const before = await serve();
      await using gateway = start([
        "gateway",
        "--to",
        `nats://127.0.0.1:${port}/rpc`,
        "--port",
        "0",
      ]);
      const [front = ""] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+/);
      const client = createClient<typeof methods>(httpLink(`${front}/rpc`));
      onTestFinished(() => client.close());
      const add = () => client.api.math.add({ a: 2, b: 3 });
      expect(await add()).toBe(5);
      await before.close();
      await testNats.stop();
      const refusing = await refusingAt(port);
      // NATS's client gives up for good if it is refused twice.
      await expect.poll(() => refusing.refused).toBeGreaterThanOrEqual(2);
      await refusing.close();
      testNats = await startNats("", { port });
      await serve();
      await expect.poll(() => add().catch(() => undefined)).toBe(5);
    });
});

/** A nats-server that refuses everyone. */
async function refusingAt(port: number) {
  const counts = { refused: 0 };
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.write('INFO {"server_id":"none","version":"2.10.0","proto":1,"max_payload":1024}\r\n');
    socket.once("data", () => {
      counts.refused++;
      socket.end("-ERR 'Authorization Violation'\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => server.close(resolve));
  return Object.assign(counts, { close });
}
