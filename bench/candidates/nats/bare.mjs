import { connect } from "@nats-io/transport-node";
import { answerText } from "../dispatch.mjs";

/** NATS's own client: a request, and a subscription that responds, with JSON-RPC written by hand. */
export default async ({ origin, options }) => {
  const { port } = new URL(origin);
  const [caller, worker] = await Promise.all([connect({ port, ...options }), connect({ port })]);
  for (const method of ["add", "echo"]) {
    worker.subscribe(`bare.${method}`, {
      queue: "q",
      callback: (_, message) => message.respond(answerText(message.string())),
    });
  }
  await worker.flush();
  let lastId = 0;
  const call = async (method, params) => {
    const text = JSON.stringify({ jsonrpc: "2.0", method, params, id: ++lastId });
    const reply = await caller.request(`bare.${method}`, text, { timeout: 60_000 });
    return JSON.parse(reply.string()).result;
  };
  return { add: (a, b) => call("add", [a, b]), echo: (text) => call("echo", [text]) };
};
