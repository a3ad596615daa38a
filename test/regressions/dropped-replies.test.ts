import { createServer, type Middleware, success } from "callwire";
import { expect, test } from "vitest";
import { requestText } from "../server/asking.ts";

test("a middleware may drop the reply of a handler that fails later", async () => {
  const unhandled: unknown[] = [];
  const listen = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", listen);
  const dropping: Middleware = (next) => (request, context) => {
    void next(request, context);
    return success("mine");
  };
  const logged: string[] = [];
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (_: object, message: string) => logged.push(message),
  };
  const server = createServer(
    { fails: async () => Promise.reject(new Error("late")) },
    { use: [dropping], log },
  );
  expect(server.receive(requestText("fails"))).toContain("mine");
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", listen);
  expect(unhandled).toEqual([]);
  expect(logged).toEqual(["handler failed"]);
});
