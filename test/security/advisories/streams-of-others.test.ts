/**
 * An event id is not a credential: a client that did not begin a stream can neither read it nor end
 * it.
 */
import { createServer, silentLog, stream } from "callwire";
import { fetchHandler } from "callwire/http";
import { authenticate, type Credential } from "callwire/security";
import { expect, onTestFinished, test } from "vitest";
import { RawClient, send, serve } from "../../transports/http/wire.ts";

/** A credential in a header of its own, so that nothing else tells callers apart. */
const byName: Credential = {
  verify: ({ headers: { "x-name": name } }) =>
    typeof name === "string" ? { id: name } : undefined,
};

function secrets() {
  let ended = false;
  let finish = (): void => {};
  const more = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const methods = {
    secrets: stream({}, async function* (_, call) {
      yield "first secret";
      call.signal.addEventListener("abort", () => {
        ended = true;
      });
      await more;
      yield "second secret";
    }),
  };
  return { methods, finish, hasEnded: () => ended };
}

const body = '{"jsonrpc":"2.0","method":"secrets","id":1}';

test("another principal's event id is answered with 404, and its stream continues", async () => {
  const { methods, finish, hasEnded } = secrets();
  const { port } = await serve(methods, {}, { use: [authenticate(byName)] });
  const reader = new RawClient(port);
  reader.write(
    "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Name: ann\r\n" +
      `Accept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const heard = await reader.until((text) => text.includes("first secret"));
  const [, id = ""] = /id: (\S+\.1)\n/.exec(heard) ?? [];
  const as = (name: string | undefined, method: string) =>
    send(port, {
      method,
      headers: {
        accept: "text/event-stream",
        "last-event-id": id.replace(/1$/, "0"),
        ...(name === undefined ? {} : { "x-name": name }),
      },
    });
  for (const method of ["GET", "DELETE"]) {
    const foreign = await as("eve", method);
    expect([method, foreign.status]).toEqual([method, 404]);
    expect(foreign.text).not.toContain("secret");
    expect((await as(undefined, method)).status).toBe(401);
  }
  expect(hasEnded()).toBe(false);
  reader.socket.destroy();
  const own = as("ann", "GET");
  finish();
  const { status, text } = await own;
  expect(status).toBe(200);
  expect(text).toContain("first secret");
  expect(text).toContain("second secret");
  // Even after its end.
  expect((await as("eve", "GET")).status).toBe(404);
  expect((await as("ann", "GET")).text).toContain("second secret");
});

test("so it is for fetch handlers", async () => {
  const { methods, finish } = secrets();
  const server = createServer(methods, { use: [authenticate(byName)], log: silentLog });
  onTestFinished(() => server.close());
  const handler = fetchHandler(server);
  const ask = (name: string, init: RequestInit, headers: Record<string, string>) =>
    handler(
      new Request("http://localhost/rpc", {
        ...init,
        headers: { "x-name": name, accept: "text/event-stream", ...headers },
      }),
    );
  const json = { "content-type": "application/json" };
  const first = await ask("ann", { method: "POST", body }, json);
  finish();
  const [, id = ""] = /id: (\S+\.1)\n/.exec(await first.text()) ?? [];
  const after = { "last-event-id": id };
  expect((await ask("eve", {}, after)).status).toBe(404);
  expect((await ask("eve", { method: "DELETE" }, after)).status).toBe(404);
  expect(await (await ask("ann", {}, after)).text()).toContain("second secret");
  expect((await ask("ann", { method: "DELETE" }, after)).status).toBe(204);
});
