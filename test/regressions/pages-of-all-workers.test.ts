/** A page about all workers takes time from each of them, so not every request for it may ask them. */
import cluster from "node:cluster";
import { expect, onTestFinished, test, vi } from "vitest";
import type { SharedPage } from "../../src/protocol/shared-page.ts";
import { HttpWorker } from "../../src/serve/workers/worker.ts";

type Message = { readonly callwire: string; readonly id: number };
type Receive = (message: object) => void;

test("requests that come together share one look at all workers", async () => {
  const sent: Message[] = [];
  const send = (message: Message, _: unknown, __: unknown, done: () => void): void => {
    sent.push(message);
    done();
  };
  const own = cluster.worker;
  Object.assign(cluster, { worker: { isConnected: () => true, process: { send } } });
  onTestFinished(() => void Object.assign(cluster, { worker: own }));
  const shown: unknown[] = [];
  const page = Object.assign(() => {}, {
    snapshot: () => 1,
    merged: (values: readonly unknown[]) => values,
    remains: () => 1,
    show: (value: unknown) => shown.push(value),
  }) as unknown as SharedPage;
  let receive: Receive = () => {};
  const on = vi.spyOn(process, "on").mockImplementation((name, listener) => {
    if (name === "message") receive = listener as Receive;
    return process;
  });
  onTestFinished(() => on.mockRestore());
  const worker = new HttpWorker({} as never);
  const { mounts } = worker.options({ mounts: { "/metrics": page as never } });
  worker.serve({ port: 1, retire: async () => {}, close: async () => {} });
  const handler = mounts?.["/metrics"] as (request: unknown, response: unknown) => Promise<void>;
  const gathers = (): Message[] => sent.filter(({ callwire }) => callwire === "gather");

  const answers = Array.from({ length: 50 }, () => handler({}, {}));
  expect(gathers().length).toBe(1);
  receive({ callwire: "gathered", id: gathers()[0]?.id, values: ["a"] });
  await Promise.all(answers);
  expect(shown).toEqual(Array(50).fill(["a"]));

  // The next request asks again.
  const later = handler({}, {});
  expect(gathers().length).toBe(2);
  receive({ callwire: "gathered", id: gathers()[1]?.id, values: ["b"] });
  await later;
  expect(shown.at(-1)).toEqual(["b"]);
});
