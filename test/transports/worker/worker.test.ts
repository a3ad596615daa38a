import { BroadcastChannel, MessageChannel, Worker } from "node:worker_threads";
import { createClient, createServer, silentLog } from "callwire";
import { type Port, portLink, servePort } from "callwire/worker";
import { describe, expect, onTestFinished, test } from "vitest";
import { bundle } from "../bundle.ts";

const program = bundle(new URL("./fixtures/worker.ts", import.meta.url));

function start(workerData?: unknown): { worker: Worker; exit: Promise<number> } {
  const worker = new Worker(program, { workerData });
  const exit = new Promise<number>((resolve) => worker.once("exit", resolve));
  onTestFinished(() => void worker.terminate());
  return { worker, exit };
}

describe("a worker thread", () => {
  test("is called, calls back, and streams", async () => {
    const { worker } = start();
    const service = createServer({ answer: (n: number) => n + 1 });
    const client = createClient(portLink(worker, { service }));
    expect(await client.call("isMainThread")).toBe(false);
    expect(await client.call("ask")).toBe(21);
    const items: unknown[] = [];
    for await (const item of client.stream("count", { to: 200 })) items.push(item);
    expect(items).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });

  test("ends with its link", async () => {
    const { worker, exit } = start();
    const link = portLink(worker);
    const open = expect(link.call("hang")).rejects.toMatchObject({ code: "CLOSED" });
    await link.close();
    await open;
    await exit;
  });

  test("that closes its service exits, and its parent notices", async () => {
    const { worker, exit } = start();
    const link = portLink(worker);
    await link.call("close");
    expect(await link.closed).toBeUndefined();
    expect(link.isOpen).toBe(false);
    await exit;
  });

  test("that exits fails open calls with its code", async () => {
    const { worker } = start();
    const link = portLink(worker);
    const open = expect(link.call("hang")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await expect(link.call("exit", [3])).rejects.toThrow("the worker exited with code 3");
    await open;
  });

  test("that crashes fails open calls with its error", async () => {
    const { worker } = start();
    await expect(portLink(worker).call("crash")).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      message: "crashed",
    });
  });

  test("that does not start fails the call", async () => {
    const { worker } = start("broken");
    await expect(portLink(worker).call("hang")).rejects.toMatchObject({
      code: "CONNECTION_LOST",
      message: "the worker did not start",
    });
  });
});

const echo = () => createServer({ echo: (value: unknown) => value }, { log: silentLog });

/** Only the members of a port that browsers have: no Node events, nothing before `start`. */
function webPort(port: import("node:worker_threads").MessagePort): Port {
  const web = port as unknown as MessagePort;
  return {
    postMessage: (message) => web.postMessage(message),
    addEventListener: (type, listener) => {
      // In browsers, a port does not learn that its peer was closed.
      if (type !== "close") web.addEventListener(type, listener);
    },
    start: () => web.start(),
    close: () => web.close(),
  };
}

describe("a port of a browser", () => {
  test("is started, and its peer notices that it was closed", async () => {
    const { port1, port2 } = new MessageChannel();
    const server = servePort(echo(), webPort(port1));
    const link = portLink(webPort(port2));
    expect(await link.call("echo", ["hi"])).toBe("hi");
    await link.close();
    await server.closed;
  });

  test("that closes at the server fails nothing that was answered", async () => {
    const { port1, port2 } = new MessageChannel();
    const server = servePort(echo(), webPort(port1));
    const link = portLink(webPort(port2));
    const answer = link.call("echo", ["hi"]);
    expect(await answer).toBe("hi");
    await server.close();
    await link.closed;
    await expect(link.call("echo")).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("of a worker reports errors in the worker, which are not errors of the wire", async () => {
    const { port1, port2 } = new MessageChannel();
    const events = new EventTarget();
    const { close: _, ...scope } = webPort(port1);
    servePort(echo(), {
      ...scope,
      addEventListener(type, listener) {
        if (type === "error") events.addEventListener(type, listener);
        else scope.addEventListener?.(type, listener);
      },
    });
    const link = portLink(webPort(port2));
    events.dispatchEvent(new Event("error"));
    expect(await link.call("echo", ["hi"])).toBe("hi");
    await link.close();
  });

  test("a worker whose script does not load fails the call", async () => {
    const listeners = new Map<string, (event: unknown) => void>();
    let terminated = false;
    const link = portLink({
      postMessage() {},
      addEventListener: (type, listener) => void listeners.set(type, listener),
      terminate: () => {
        terminated = true;
      },
    });
    const call = expect(link.call("echo")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    listeners.get("error")?.({});
    await call;
    expect(terminated).toBe(true);
  });
});

test("two ends of a BroadcastChannel are a wire", async () => {
  const [near, far] = [new BroadcastChannel("callwire"), new BroadcastChannel("callwire")];
  const server = servePort(echo(), far);
  const link = portLink(near);
  expect(await link.call("echo", ["hi"])).toBe("hi");
  await link.close();
  await server.closed;
});

test("a message that is not a string is answered with an error, and does not end the wire", async () => {
  const { port1, port2 } = new MessageChannel();
  servePort(echo(), port1);
  const heard: unknown[] = [];
  const two = new Promise<void>((resolve) =>
    port2.on("message", (value) => {
      if (heard.push(value) === 2) resolve();
    }),
  );
  port2.postMessage({ jsonrpc: "2.0", method: "echo", id: 1 });
  port2.postMessage('{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":2}');
  await two;
  port2.close();
  expect(heard[0]).toContain("-32700");
  expect(heard[1]).toBe('{"jsonrpc":"2.0","result":"hi","id":2}');
});

test("a service that closes closes all its ports, and keeps none that is gone", async () => {
  const service = echo();
  const links = Array.from({ length: 3 }, () => {
    const { port1, port2 } = new MessageChannel();
    servePort(service, port1);
    return portLink(port2);
  });
  await links[0]?.close();
  await service.close();
  await Promise.all(links.map((link) => link.closed));
});

test("a value that is not a port is refused", () => {
  expect(() => portLink({ postMessage() {} })).toThrow(TypeError);
});
