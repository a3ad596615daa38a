import { createHash } from "node:crypto";
import { connect } from "node:net";
import {
  byteStream,
  createClient,
  createServer,
  type Methods,
  method,
  RemoteError,
} from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function hashOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest("hex");
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const upload = method(
  { params: z.object({ file: z.file(), title: z.string() }), limits: { maxFileBytes: 5_000_000 } },
  async ({ file, title }) => ({
    title,
    name: file.name,
    type: file.type,
    size: file.size,
    hash: await hashOf(file.stream()),
  }),
);
const methods = {
  upload,
  hash: method(
    { params: z.object({ bytes: z.instanceof(ReadableStream<Uint8Array>) }) },
    async ({ bytes }) => ({ hash: await hashOf(bytes) }),
  ),
  reversed: method(
    { params: z.object({ first: z.instanceof(Blob), second: z.instanceof(Blob) }) },
    async ({ first, second }) => [await second.text(), await first.text()],
  ),
  second: method(
    {
      params: z.object({ first: z.instanceof(Blob), second: z.instanceof(Blob) }),
      limits: { maxFileBytes: 6_000_000 },
    },
    async ({ first, second }) => {
      await first.stream().cancel();
      return second.text();
    },
  ),
  raw: method({ params: z.object({ bytes: z.instanceof(Uint8Array) }) }, ({ bytes }) =>
    bytes.slice().reverse(),
  ),
  thumbnail: method({ params: z.object({ photo: z.instanceof(Blob) }) }, async ({ photo }) => ({
    image: new Blob([`small ${await photo.text()}`], { type: "image/png" }),
  })),
  download: method(
    { params: z.object({ length: z.number() }), result: byteStream() },
    ({ length }) => new Blob([noise(length)]).stream(),
  ),
  ignore: method({ params: z.object({ file: z.instanceof(Blob) }) }, () => "not read"),
};

function noise(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 8) * 7 + (i >> 16)) & 255;
  // Looks like the end of a part.
  bytes.set(new TextEncoder().encode("\r\n--callwire-"), Math.max(0, length - 20));
  return bytes;
}

async function listen(served: Methods): Promise<string> {
  const server = createServer(served, { log: quiet });
  const http = await serveHttp(server, { port: 0 });
  open.push(() => server.close({ drainMs: 0 }));
  return `http://127.0.0.1:${http.port}/rpc`;
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

describe.each(["undici", "fetch", "fetchHandler"])("%s", (kind) => {
  async function client() {
    const link =
      kind === "undici"
        ? httpLink(await listen(methods))
        : kind === "fetch"
          ? httpLink(await listen(methods), { fetch: (url, init) => fetch(url, init) })
          : httpLink("http://127.0.0.1/rpc", { fetch: handled() });
    open.push(() => link.close());
    return createClient<typeof methods>(link, { values: "rich", timeoutMs: 5_000 }).api;
  }

  function handled(): (url: string, init: RequestInit) => Promise<Response> {
    const handler = fetchHandler(createServer(methods, { log: quiet }));
    return async (url, init) => handler(new Request(url, init));
  }

  test("a file arrives with its name, type and bytes", async () => {
    const api = await client();
    const bytes = noise(3_000_000);
    const file = new File([bytes], 'a "photo".jpg', { type: "image/jpeg" });
    expect(await api.upload({ file, title: "sea" })).toEqual({
      title: "sea",
      name: 'a "photo".jpg',
      type: "image/jpeg",
      size: bytes.length,
      hash: sha256(bytes),
    });
  });

  test("a stream arrives", async () => {
    const bytes = noise(1_000_000);
    const { hash } = await (await client()).hash({ bytes: new Blob([bytes]).stream() });
    expect(hash).toBe(sha256(bytes));
  });

  test("short files may be read in any order", async () => {
    const api = await client();
    const both = await api.reversed({ first: new Blob(["one"]), second: new Blob(["two"]) });
    expect(both).toEqual(["two", "one"]);
  });

  test("a long file that is dropped does not hold up the one after it", async () => {
    const api = await client();
    const first = new Blob([noise(5_000_000)]);
    expect(await api.second({ first, second: new Blob(["two"]) })).toBe("two");
  });

  test.each([100, 100_000])("%d bytes go there and back", async (length) => {
    const bytes = noise(length);
    expect(await (await client()).raw({ bytes })).toEqual(bytes.slice().reverse());
  });

  test("a Blob in a result is a Blob", async () => {
    const { image } = await (await client()).thumbnail({ photo: new Blob(["sea"]) });
    expect(image).toBeInstanceOf(Blob);
    expect(image.type).toBe("image/png");
    expect(await image.text()).toBe("small sea");
  });

  test("a stream in a result arrives while it is read", async () => {
    const stream = await (await client()).download({ length: 2_000_000 });
    expect(await hashOf(stream)).toBe(sha256(noise(2_000_000)));
  });

  test("a method that reads no file answers", async () => {
    const api = await client();
    expect(await api.ignore({ file: new Blob([noise(300_000)]) })).toBe("not read");
  });

  test("a file that is longer than the limit of its method is refused with 413", async () => {
    const api = await client();
    const file = new File([noise(5_000_001)], "long");
    const failed = await api.upload({ file, title: "" }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RemoteError);
    expect(failed).toMatchObject({
      code: -32600,
      data: { limit: "maxFileBytes", max: 5_000_000 },
    });
  });
});

/** Sends a raw multipart request, and returns the status and the body of the response. */
async function post(
  url: string,
  body: string,
  headers: Record<string, string> = { "rpc-attachments": "1" },
): Promise<{ status: number; body: unknown }> {
  const type = "multipart/form-data; boundary=b";
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": type, ...headers },
    body,
  });
  return { status: response.status, body: await response.json() };
}

function parts(message: object, ...files: string[]): string {
  const all = [JSON.stringify(message), ...files];
  return `${all.map((part) => `--b\r\n\r\n${part}\r\n`).join("")}--b--`;
}

const hashCall = {
  jsonrpc: "2.0",
  method: "hash",
  params: { bytes: { part: 1 } },
  id: 1,
  types: { stream: ["/bytes"] },
};

describe("a multipart request", () => {
  test("can be written by hand", async () => {
    const { status, body } = await post(await listen(methods), parts(hashCall, "sea"));
    expect(status).toBe(200);
    expect(body).toMatchObject({ result: { hash: sha256(Buffer.from("sea")) }, id: 1 });
  });

  test("without the header that no form can send is refused", async () => {
    const { status } = await post(await listen(methods), parts(hashCall, "sea"), {});
    expect(status).toBe(415);
  });

  test("of the page of another site is refused, whatever its headers", async () => {
    const headers = { "rpc-attachments": "1", origin: "https://elsewhere.example" };
    const { status } = await post(await listen(methods), parts(hashCall, "sea"), headers);
    expect(status).toBe(403);
  });

  test.each([
    ["a part that is missing", { ...hashCall, params: { bytes: { part: 2 } } }],
    ["a part that two values share", { ...hashCall, types: { stream: ["/bytes", "/bytes"] } }],
    ["a path that does not exist", { ...hashCall, types: { stream: ["/other"] } }],
    ["a path to the prototype", { ...hashCall, types: { stream: ["/__proto__"] } }],
  ])("with %s is refused with -32602", async (_what, message) => {
    const { body } = await post(await listen(methods), parts(message, "sea"));
    expect(body).toMatchObject({ error: { code: -32602 } });
  });

  test("whose file is shorter than it says is refused with -32602", async () => {
    const file = { part: 1, name: "a", type: "", size: 10 };
    const params = { file, title: "" };
    const message = { ...hashCall, method: "upload", params, types: { file: ["/file"] } };
    const { body } = await post(await listen(methods), parts(message, "sea"));
    expect(body).toMatchObject({ error: { code: -32602 } });
  });

  test.each(["", "--b", "--b--", "--c\r\n\r\n{}\r\n--c--", "--bb\r\n\r\n{}\r\n--bb--"])(
    "with the body %j is refused with 400",
    async (body) => {
      expect((await post(await listen(methods), body)).status).toBe(400);
    },
  );

  test("that ends early ends the call, and what it wrote is closed", async () => {
    let closed: ((error: unknown) => void) | undefined;
    const end = new Promise((resolve) => {
      closed = resolve;
    });
    let began: (() => void) | undefined;
    const begun = new Promise<void>((resolve) => {
      began = resolve;
    });
    const url = await listen({
      hash: method({}, async (params, call) => {
        const { bytes } = params as { bytes: ReadableStream<Uint8Array> };
        try {
          for await (const _ of bytes) began?.();
        } catch (error) {
          closed?.([(error as Error).message, call.signal.aborted]);
        }
      }),
    });
    const { port, host } = new URL(url);
    const socket = connect(Number(port), "127.0.0.1");
    const body = parts(hashCall, "sea").slice(0, -7);
    socket.write(
      `POST /rpc HTTP/1.1\r\nHost: ${host}\r\nRpc-Attachments: 1\r\nContent-Length: 1000\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\n\r\n${body}`,
    );
    await begun;
    socket.destroy();
    expect(await end).toEqual(["the call has ended", true]);
  });
});

test("a caller that cancels an upload ends the call on the server, and its stream is cancelled", async () => {
  let ended: (() => void) | undefined;
  const end = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const served = {
    sink: method(
      { params: z.object({ bytes: z.instanceof(ReadableStream<Uint8Array>) }) },
      async ({ bytes }) => {
        try {
          for await (const _ of bytes) cancel.abort();
        } finally {
          ended?.();
        }
      },
    ),
  };
  const cancel = new AbortController();
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: () => {
      isCancelled = true;
    },
  });
  const link = httpLink(await listen(served));
  open.push(() => link.close());
  const { api } = createClient<typeof served>(link, { values: "rich" });
  const call = api.sink({ bytes: endless }, { signal: cancel.signal });
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  await end;
  await expect.poll(() => isCancelled).toBe(true);
});

test("the progress of an upload is reported up to its whole length", async () => {
  const link = httpLink(await listen(methods));
  open.push(() => link.close());
  const { api } = createClient<typeof methods>(link, { values: "rich" });
  const reports: { sent: number; total: number | undefined }[] = [];
  const file = new File([noise(1_000_000)], "a");
  await api.upload(
    { file, title: "" },
    { onUploadProgress: (progress) => void reports.push(progress) },
  );
  const last = reports.at(-1);
  expect(reports.length).toBeGreaterThan(2);
  expect(last?.sent).toBe(last?.total);
  expect(last?.total).toBeGreaterThan(1_000_000);
});
