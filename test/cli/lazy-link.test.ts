import { createClient, type Link } from "callwire";
import { expect, test } from "vitest";
import { lazyLink } from "../../src/cli/lazy-link.ts";

test("closing does not wait for a link that is still opening; it is closed once it has opened", async () => {
  let come: (link: Link) => void = () => {};
  const client = createClient(
    lazyLink(
      () =>
        new Promise((resolve) => {
          come = resolve;
        }),
    ),
  );
  const call = client.call("math/add");
  const refused = expect(call).rejects.toMatchObject({ code: "CLOSED" });
  await client.close();
  await refused;
  const sent: unknown[] = [];
  await new Promise<void>((resolve) => {
    come({
      send: async (request) => void sent.push(request),
      sendBatch: () => [],
      close: async () => resolve(),
    });
  });
  expect(sent).toEqual([]);
});

test("a call that waits when its link is closed fails with that reason", async () => {
  const link = lazyLink(() => new Promise(() => {}));
  const outgoing = {
    cancel: undefined,
    item: () => undefined,
    progress() {},
    gap() {},
    headers: undefined,
    idempotent: true,
  };
  const reply = link.send({ jsonrpc: "2.0", method: "x", params: undefined, id: 1 }, outgoing);
  const told = expect(reply).rejects.toMatchObject({ code: "CLOSED" });
  await link.close();
  await told;
});
