import { Router } from "@open-rpc/server-js";

const number = { type: "number" };

/** A router for both methods; open-rpc needs a document, so its schemas allow what is sent. */
export function createRouter() {
  const document = {
    openrpc: "1.2.6",
    info: { title: "bench", version: "1.0.0" },
    methods: [
      {
        name: "add",
        params: [
          { name: "a", schema: number },
          { name: "b", schema: number },
        ],
        result: { name: "sum", schema: number },
      },
      {
        name: "echo",
        params: [{ name: "message", schema: { type: "string" } }],
        result: { name: "message", schema: { type: "string" } },
      },
    ],
  };
  return new Router(document, { add: (a, b) => a + b, echo: (message) => message });
}
