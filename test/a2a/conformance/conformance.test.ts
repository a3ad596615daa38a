/** What the specification of A2A requires, as transcripts, with agents whose cards claim different things. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { silentLog } from "callwire";
import type { A2aAgentOptions, AgentUpdate, Execute } from "callwire/a2a";
import { webhooks } from "callwire/a2a/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { tckExecute } from "../../../examples/a2a-tck/agent.ts";
import { type Clock, systemClock } from "../../../src/protocol/clock.ts";
import { card, gate, serveAgent } from "../served-agent.ts";
import { type Delivery, play, readCases } from "./transcript.ts";

const described = { ...card, defaultInputModes: ["text/plain", "application/json"] };
const push = webhooks({ allow: ["127.0.0.1", "localhost"] });
const extension = { uri: "urn:a2a:tck:required-extension", required: true };
const extended = { ...described, name: "Extended" };

/** The kinds of cards: an agent refuses what its card does not claim. */
const cards: Readonly<Record<string, Partial<A2aAgentOptions>>> = {
  all: { card: described, push, extendedCard: extended },
  "no-streaming": { card: { ...described, streaming: false }, push },
  "no-push": { card: described },
  strict: {
    card: { ...described, extensions: [extension] },
    push,
    extendedCard: ({ transport }) =>
      transport.headers["x-known"] === undefined ? undefined : extended,
  },
  current: { card: described, extendedCard: extended, legacy: false },
};

const cases = readCases();

/** The time of an agent whose tasks never change at the same millisecond, so that lists have one order. */
function distinctTimes(): Clock {
  let last = 0;
  const now = (): number => {
    last = Math.max(last + 1, Date.now());
    return last;
  };
  return { ...systemClock, now };
}

/** A webhook that returns the notifications it received one by one. */
async function webhook() {
  const waiting: Delivery[] = [];
  let wake = (): void => {};
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    response.writeHead(204).end();
    waiting.push({ headers: request.headers, body });
    wake();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const delivered = async (): Promise<Delivery> => {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) return next;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { hook: `http://127.0.0.1:${port}/hook`, delivered };
}

test("there are cases for every kind of card", () => {
  expect(new Set(cases.map((each) => each.card))).toEqual(new Set(Object.keys(cards)));
});

test("each rule of the list is shown, and each transcript shows one", () => {
  const folder = new URL(".", import.meta.url);
  const rows = readFileSync(new URL("rules.md", folder), "utf8").matchAll(
    /^\| (?:MUST|SHOULD|MAY) +\|[^|]+\| (.+?) +\|$/gm,
  );
  const shown = [...rows].flatMap(([, what = ""]) => what.split("; "));
  const titles = new Set(cases.map(({ title }) => title));
  const missing = shown.filter((what) => {
    const [, file, title = ""] = /^(\S+\.test\.ts): (.+)$/.exec(what) ?? [];
    if (file === undefined) return !titles.has(what);
    return !readFileSync(new URL(`../${file}`, folder), "utf8").includes(`("${title}`);
  });
  expect(missing).toEqual([]);
  expect([...titles].filter((title) => !shown.includes(title))).toEqual([]);
});

describe.each(Object.keys(cards))("an agent with the card %s", (kind) => {
  test.each(cases.filter((each) => each.card === kind))("$level $title", async (played) => {
    const { passed, open } = gate();
    const kit = tckExecute(0);
    const execute: Execute = async function* (message, task) {
      if (message.messageId.startsWith("fail")) throw new Error("not today");
      if (!message.messageId.startsWith("hold")) {
        yield* kit(message, task) as AsyncIterable<AgentUpdate>;
        return;
      }
      yield { state: "working" };
      await passed;
      yield "done";
    };
    const clock = distinctTimes();
    const { base } = await serveAgent({ ...cards[kind], execute, clock, log: silentLog });
    await play(played, { base, release: open, ...(await webhook()) });
    open();
  });
});
