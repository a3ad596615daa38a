import { initTRPC } from "@trpc/server";
import { createHTTPServer } from "@trpc/server/adapters/standalone";
import { foreign } from "../../workloads.mjs";
import { listening } from "../listening.mjs";

export default async () => {
  const t = initTRPC.create();
  const anything = t.procedure.input((value) => value);
  const router = t.router({
    add: anything.mutation(({ input: [a, b] }) => a + b),
    echo: anything.mutation(({ input }) => input),
  });
  const server = createHTTPServer({ router });
  const request = (path, { input, result }) => ({
    path,
    text: JSON.stringify(input),
    reply: { result: { data: result } },
  });
  return {
    port: await listening(server),
    requests: {
      add: request("/add", foreign.add),
      "echo 1 KiB": request("/echo", foreign["echo 1 KiB"]),
    },
  };
};
