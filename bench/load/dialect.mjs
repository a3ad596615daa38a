/**
 * What a call of `add` looks like on a wire. `request(slot)` returns the request for slot + 2, as
 * one or more messages; `slotOf(text)` is the slot that a reply answers, and throws if the reply is
 * wrong.
 */
import { isDeepStrictEqual } from "node:util";
import { idLast, idSecond } from "../workloads.mjs";

export const dialects = {
  "json-rpc": () =>
    fixed(
      // Half of the calls in each of the two usual orders of members.
      (slot, id) => (slot % 2 === 0 ? idSecond : idLast)(id, "add", [slot, 2]),
      (slot, id) => ({ jsonrpc: "2.0", result: slot + 2, id }),
    ),

  mcp: () =>
    fixed(
      (slot, id) => ({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "add", arguments: { a: slot, b: 2 } },
      }),
      (slot, id) => ({
        jsonrpc: "2.0",
        id,
        result: { content: [{ type: "text", text: `${slot + 2}` }] },
      }),
    ),

  trpc: () =>
    fixed(
      (slot, id) => ({ id, method: "mutation", params: { path: "add", input: [slot, 2] } }),
      (slot, id) => ({ id, result: { type: "data", data: slot + 2 } }),
    ),

  capnweb,
};

/** A slot always sends the same text, so that its reply is parsed once and then only compared. */
function fixed(requestOf, replyOf) {
  const slots = new Map();
  return {
    repeats: true,
    // Ids start at 1, because rpc-websockets takes 0 for a notification.
    request: (slot) => [JSON.stringify(requestOf(slot, slot + 1))],
    slotOf(text) {
      const known = slots.get(text);
      if (known !== undefined) return known;
      const reply = JSON.parse(text);
      const slot = reply.id - 1;
      if (!isDeepStrictEqual(reply, replyOf(slot, reply.id))) {
        throw new Error(`wrong reply: ${text.slice(0, 200)}`);
      }
      slots.set(text, slot);
      return slot;
    },
  };
}

/** Cap'n Web counts its calls; its client pushes, pulls and afterwards releases each of them. */
function capnweb() {
  const slots = new Map();
  const answered = [];
  let lastId = 0;
  return {
    repeats: false,
    request(slot) {
      const id = ++lastId;
      slots.set(id, slot);
      const messages = answered.splice(0).map((done) => `["release",${done},1]`);
      messages.push(`["push",["pipeline",0,["add"],[${slot},2]]]`, `["pull",${id}]`);
      return messages;
    },
    slotOf(text) {
      const [kind, id, value] = JSON.parse(text);
      const slot = slots.get(id);
      if (kind !== "resolve" || value !== slot + 2)
        throw new Error(`wrong reply: ${text.slice(0, 200)}`);
      slots.delete(id);
      answered.push(id);
      return slot;
    },
  };
}
