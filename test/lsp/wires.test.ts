/** Language servers as processes, over each wire with which editors start them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StreamChannel } from "callwire/connection";
import { contentLengthFraming } from "callwire/framing";
import {
  type LspLink,
  lspChannelLink,
  lspClient,
  lspIpcLink,
  lspServer,
  lspStdioLink,
  serveLsp,
} from "callwire/lsp";
import { FakeClock } from "callwire/testing";
import { build as bundle } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import { build } from "../cli/process.ts";
import { root } from "../entries.ts";
import { at } from "./editor.ts";

const program = join(root, "test/lsp/fixtures/server.mjs");
const greeting = { processId: process.pid, rootUri: null, capabilities: {} };

beforeAll(build);

describe("an editor", () => {
  test("talks over standard input and output", async () => {
    expect(await hoverOver(lspStdioLink(process.execPath, [program, "--stdio"]))).toBe("stdio");
  });

  test("talks over Node's IPC", async () => {
    expect(await hoverOver(lspIpcLink(program))).toBe("ipc");
  });

  test("listens on a port to which the server connects", async () => {
    const listener = createServer();
    await once(listener.listen(0, "127.0.0.1"), "listening");
    const { port } = listener.address() as { port: number };
    expect(await hoverWhenConnected(listener, `--socket=${port}`)).toBe("tcp");
  });

  test("listens on a pipe to which the server connects", async () => {
    const folder = mkdtempSync(join(tmpdir(), "callwire-lsp-"));
    const path = join(folder, "pipe");
    const listener = createServer();
    await once(listener.listen(path), "listening");
    expect(await hoverWhenConnected(listener, `--pipe=${path}`)).toBe("unix");
    rmSync(folder, { recursive: true });
  });
});

describe("the process of a server", () => {
  test("exits with 0 after shutdown and exit", async () => {
    const { child, send, reply } = start();
    send({ id: 1, method: "initialize", params: greeting });
    await reply();
    send({ id: 2, method: "shutdown" });
    await reply();
    send({ method: "exit" });
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("exits with 1 after exit without shutdown", async () => {
    const { child, send } = start();
    send({ method: "exit" });
    expect(await once(child, "exit")).toEqual([1, null]);
  });

  test("exits with 1 when its input ends, and with 0 if it was shut down before", async () => {
    const left = start();
    left.child.stdin?.end();
    expect(await once(left.child, "exit")).toEqual([1, null]);
    const { child, send, reply } = start();
    send({ id: 1, method: "initialize", params: greeting });
    await reply();
    send({ id: 2, method: "shutdown" });
    await reply();
    child.stdin?.end();
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("exits when the process of the editor is gone", async () => {
    const gone = spawn(process.execPath, ["-e", ""]);
    await once(gone, "exit");
    const clock = new FakeClock();
    const listener = createServer();
    await once(listener.listen(0, "127.0.0.1"), "listening");
    const { port } = listener.address() as { port: number };
    const codes: number[] = [];
    const accepted = once(listener, "connection");
    const connection = await serveLsp(lspServer({}), {
      args: [`--socket=${port}`, `--clientProcessId=${gone.pid}`],
      exit: (code) => codes.push(code),
      clock,
    });
    await accepted;
    expect(codes).toEqual([]);
    clock.advance(3_000);
    await connection.closed;
    await expect.poll(() => codes).toEqual([1]);
    listener.close();
  });

  test.each([
    process.pid,
    // Not an id, so nothing is known about it.
    1.5,
  ])("stays while the process %d of the editor may live", async (processId) => {
    const clock = new FakeClock();
    const listener = createServer();
    await once(listener.listen(0, "127.0.0.1"), "listening");
    const { port } = listener.address() as { port: number };
    const accepted = once(listener, "connection");
    const connection = await serveLsp(lspServer({}), {
      args: [`--socket=${port}`],
      exit: () => {},
      clock,
    });
    const [editor] = await accepted;
    const channel = channelOver(editor as Socket);
    await lspClient(lspChannelLink(channel), {}, { initialize: { processId } });
    for (let i = 0; i < 5; i++) clock.advance(3_000);
    expect(connection.isOpen).toBe(true);
    await connection.close();
    listener.close();
  });
});

test("a bundled server loads TLS only if it is used, so that it starts at once", async () => {
  const { outputFiles } = await bundle({
    entryPoints: [program],
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
  });
  const text = outputFiles[0]?.text ?? "";
  const loaded = Array.from(text.matchAll(/^import .* from "(node:.*)";$/gm), ([, name]) => name);
  expect(loaded).toEqual(["node:net"]);
  expect(text).toContain('import("node:tls")');
});

async function hoverOver(link: LspLink): Promise<unknown> {
  const client = await lspClient(link);
  const hover = await client.request("textDocument/hover", at(0, 0));
  await client.close();
  return hover?.contents;
}

async function hoverWhenConnected(listener: Server, flag: string): Promise<unknown> {
  const accepted = once(listener, "connection");
  const child = spawn(process.execPath, [program, flag], { stdio: "inherit" });
  const exited = once(child, "exit");
  const [socket] = (await accepted) as [Socket];
  const contents = await hoverOver(lspChannelLink(channelOver(socket)));
  listener.close();
  expect(await exited).toEqual([0, null]);
  return contents;
}

function channelOver(socket: Socket): StreamChannel {
  return new StreamChannel(
    {
      write: (data) => void socket.write(data),
      bufferedBytes: 0,
      listen: (to) => {
        socket.on("data", (chunk) => to.data(chunk));
        socket.on("close", () => to.end());
      },
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      end: () => socket.end(),
      destroy: () => socket.destroy(),
    },
    { framing: contentLengthFraming, maxMessageBytes: 1_000_000 },
  );
}

/** The server on standard streams, and a peer that sends raw messages. */
function start(): {
  readonly child: ChildProcess;
  send(message: object): void;
  reply(): Promise<unknown>;
} {
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
  return {
    child,
    send(message) {
      const text = JSON.stringify({ jsonrpc: "2.0", ...message });
      child.stdin?.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    },
    reply: () => once(child.stdout as NonNullable<ChildProcess["stdout"]>, "data"),
  };
}
