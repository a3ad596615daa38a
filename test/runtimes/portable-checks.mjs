// What a client must do on every runtime and with every link; bundled for pages too.
import { createClient, RpcError } from "callwire";

/** @typedef {ReturnType<typeof import("./portable-methods.mjs").portableServer>["api"]} Methods */

/** A line for each promise that held or did not, as TAP has it. @type {string[]} */
export const lines = [];
/** @type {Promise<void>[]} */
const running = [];

/**
 * @param {string} sentence
 * @param {() => Promise<void>} prove
 */
export function check(sentence, prove) {
  const held = () => lines.push(`ok - ${sentence}`);
  const broken = (/** @type {unknown} */ error) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    lines.push(`not ok - ${sentence}`, ...why.split("\n").map((line) => `# ${line}`));
  };
  running.push(
    prove()
      .then(held, broken)
      .then(() => {}),
  );
}

/** Resolves when all checks so far are done. */
export async function settled() {
  await Promise.all(running.splice(0));
}

/** For links that send bytes as base64. */
export const inMessage = { fileBytes: 100_000 };

/**
 * Proves what holds on every link, and closes it unless told otherwise.
 * @param {string} where
 * @param {import("callwire").Link} link
 * @param {{ close?: boolean, fileBytes?: number }} [options] a message may have 1 MiB, so most files travel beside it
 */
export async function exercise(where, link, { close = true, fileBytes = 2_000_000 } = {}) {
  /** @type {import("callwire").Client<Methods>} */
  const client = createClient(link, { timeoutMs: 10_000 });
  check(`${where} a call is answered, by name and by position`, async () => {
    equal(await client.api.math.add({ a: 2, b: 3 }), 5);
    equal(await client.call("math/add", [2, 3]), 5);
    equal(await client.api.echo("grüße 🚀"), "grüße 🚀");
  });
  check(`${where} an error keeps its code, message and data`, async () => {
    const error = await client.call("refuse").catch((/** @type {unknown} */ thrown) => thrown);
    if (!(error instanceof RpcError)) throw error;
    equal([error.code, error.message, error.data], [1001, "Refused", { reason: "because" }]);
    equal(await codeOf(client.call("crash")), -32603);
    equal(await codeOf(client.call("nothing")), -32601);
  });
  check(`${where} a batch is answered`, async () => {
    const results = await client.batch((b) => [b.math.add({ a: 1, b: 2 }), b.echo("hi")]);
    equal(results, [3, "hi"]);
  });
  check(`${where} a notification resolves`, async () => {
    equal(await client.notify("echo", ["hi"]), undefined);
  });
  check(`${where} a stream is read to its end`, async () => {
    const items = [];
    for await (const item of client.api.math.count({ to: 5 })) items.push(item);
    equal(items, [0, 1, 2, 3, 4, 5]);
  });
  check(`${where} leaving a stream stops it`, async () => {
    const key = `${where} ${Math.random()}`;
    for await (const item of client.stream("endless", [key])) if (item === 3) break;
    equal(await client.call("stopped", [key]), true);
  });
  check(`${where} progress arrives before the reply`, async () => {
    /** @type {unknown[]} */
    const seen = [];
    const onProgress = (/** @type {unknown} */ value) => seen.push(value);
    equal(await client.call("work", [], { onProgress }), "done");
    equal(seen, [1, 2]);
  });
  check(`${where} a call can be cancelled`, async () => {
    const key = `${where} ${Math.random()}`;
    const controller = new AbortController();
    const call = client.call("hang", [key], { signal: controller.signal });
    await client.call("hanging", [key]);
    controller.abort();
    equal(await codeOf(call), "ABORTED");
    equal(await client.call("stopped", [key]), true);
  });
  check(`${where} a file is returned as it was sent`, async () => {
    /** @type {import("callwire").Client<Methods, "rich">} */
    const rich = createClient(link, { values: "rich", timeoutMs: 10_000 });
    const bytes = new Uint8Array(fileBytes).map((_, i) => i * 7 + (i >> 8));
    const copy = await rich.api.copy({ file: new Blob([bytes], { type: "image/png" }) });
    const copied = new Uint8Array(await copy.arrayBuffer());
    equal([copy.type, copied.length], ["image/png", fileBytes]);
    equal(
      copied.findIndex((byte, i) => byte !== bytes[i]),
      -1,
    );
  });
  await settled();
  if (close) await link.close();
}

/** @param {Promise<unknown>} call */
export function codeOf(call) {
  return call.then(
    (value) => `no error but ${JSON.stringify(value)}`,
    (error) => error.code ?? error,
  );
}

/**
 * @param {unknown} actual
 * @param {unknown} expected
 */
export function equal(actual, expected) {
  const [is, should] = [actual, expected].map((value) => JSON.stringify(value) ?? "undefined");
  if (is !== should) throw new Error(`${is} is not ${should}`);
}
