/** What the specification of A2A requires, as transcripts, with agents whose cards claim different things. */
import { silentLog } from "callwire";
import type { A2aAgentOptions, AgentUpdate, Execute } from "callwire/a2a";
import { webhooks } from "callwire/a2a/node";
import { describe, expect, test } from "vitest";
import { tckExecute } from "../../../examples/a2a-tck/agent.ts";
import { card, gate, serveAgent } from "../served-agent.ts";
import { play, readCases } from "./transcript.ts";

const described = { ...card, defaultInputModes: ["text/plain", "application/json"] };
const push = webhooks({ allow: ["127.0.0.1", "localhost"] });
const extension = { uri: "urn:a2a:tck:required-extension", required: true };
const extended = { ...described, name: "Extended" };

/** The kinds of cards: what an agent does not claim, it refuses. */
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
};

const cases = readCases();

test("there are cases for every kind of card", () => {
  expect(new Set(cases.map((each) => each.card))).toEqual(new Set(Object.keys(cards)));
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
    const { base } = await serveAgent({ ...cards[kind], execute, log: silentLog });
    await play(played, { base, release: open });
    open();
  });
});
