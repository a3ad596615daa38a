import { method, type Peer } from "callwire";
import * as z from "zod";
import { CANNOT_PUSH, canPush } from "./push.ts";

/** The members of the room, by connection. */
const members = new Map<Peer, string>();

const NOT_JOINED = { code: -32011, message: "Join the chat first" } as const;

export const chat = {
  join: method(
    {
      summary: "Enter the chat; what is said arrives as chat/message notifications",
      description: "Needs a wire that can push: WebSocket, TCP, a unix socket or stdio.",
      params: z.object({ name: z.string().min(1).max(32) }),
      result: z.array(z.string()),
      errors: {
        CANNOT_PUSH,
        NAME_TAKEN: { code: -32012, data: z.object({ name: z.string() }) },
      },
      examples: [{ params: { name: "Ada" }, result: ["Ada", "Grace"] }],
    },
    ({ name }, call, errors) => {
      if (!canPush(call)) throw errors.CANNOT_PUSH();
      const { peer } = call;
      for (const [other, taken] of members) {
        if (taken === name && other !== peer) throw errors.NAME_TAKEN({ name });
      }
      if (!members.has(peer)) void peer.closed.then(() => leave(peer));
      members.set(peer, name);
      tellAll({ from: name, text: "joined" });
      return [...members.values()];
    },
  ),

  say: method(
    {
      summary: "Say something to everybody in the chat",
      params: z.object({ text: z.string().min(1).max(1000) }),
      result: z.null(),
      errors: { NOT_JOINED },
      examples: [{ params: { text: "Hello, all" }, result: null }],
    },
    ({ text }, { peer }, errors) => {
      const from = members.get(peer);
      if (from === undefined) throw errors.NOT_JOINED();
      tellAll({ from, text });
      return null;
    },
  ),

  leave: method(
    {
      summary: "Leave the chat",
      params: z.object({}),
      result: z.null(),
      errors: { NOT_JOINED },
      examples: [{ result: null }],
    },
    (_, { peer }, errors) => {
      if (!leave(peer)) throw errors.NOT_JOINED();
      return null;
    },
  ),
};

function leave(peer: Peer): boolean {
  const from = members.get(peer);
  if (from === undefined) return false;
  tellAll({ from, text: "left" });
  return members.delete(peer);
}

function tellAll(message: { from: string; text: string }): void {
  for (const peer of members.keys()) peer.notify("chat/message", message);
}
