/** Message ids of durable notifications. A stream checks those of all its subjects together. */
import { createHmac } from "node:crypto";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { createClient, createServer, type Methods, silentLog } from "callwire";
import { type DuplicateNotification, durableLink, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { TestNats } from "./test-nats.ts";

const subject = "jobs";
/** For a link that never repeats a notification because its confirmation is late. */
const once = { subject, timeoutMs: 60_000, attemptMs: 60_000 };
const login = (user: string) => ({ user, pass: user });
const textOf = (method: string, param: string): string =>
  JSON.stringify({ jsonrpc: "2.0", method, params: [param] });

/** A worker, and a user that may publish to one of its subjects, and to one of the dead letters. */
async function scene(methods: Methods) {
  const testNats = await TestNats.start(`
    jetstream: { store_dir: "$FOLDER" }
    authorization: { users: [
      { user: admin, password: admin }
      { user: thief, password: thief, permissions: {
        publish: ["jobs.any.other", "jobs-dead.any.other"], subscribe: ["_INBOX.>"] } }
    ] }`);
  const connection = await testNats.connect(login("admin"));
  const server = createServer(methods, { log: silentLog });
  onTestFinished(() => server.close());
  await serveDurable(server, connection, { subject, storage: "memory", delayMs: 1 });
  const thief = jetstream(await testNats.connect(login("thief")));
  return { connection, thief };
}

/** Collects the params of a method until a call says that it is the last. */
function collector() {
  const seen: string[] = [];
  const last = deferred();
  const note = (text: string): void => {
    seen.push(text);
    if (text === "last") last.resolve();
  };
  return { seen, last: last.promise, note };
}

describeWith(["nats-server"], "a message id of a durable notification", () => {
  test("cannot be used up by a user that may publish only to another subject", async () => {
    const { seen, last, note } = collector();
    const { connection, thief } = await scene({ note, other: () => {} });
    const messageIdSecret = "a secret of all our links";
    // As given, and as a link without a secret would write it.
    const guesses = ["jobs.any.note", "jobs.any.other"].map((where) =>
      createHmac("sha256", "")
        .update(JSON.stringify([where, "order 7"]))
        .digest("base64url"),
    );
    for (const msgID of ["order 7", ...guesses]) {
      await thief.publish("jobs.any.other", textOf("other", "x"), { msgID });
    }
    const duplicates: DuplicateNotification[] = [];
    const onDuplicate = (duplicate: DuplicateNotification) => void duplicates.push(duplicate);
    const link = durableLink(connection, { ...once, messageIdSecret, onDuplicate });
    const jobs = createClient(link);
    await jobs.notify("note", ["seven"], { headers: { "nats-msg-id": "order 7" } });
    await jobs.notify("note", ["last"]);
    await last;
    expect(seen).toEqual(["seven", "last"]);
    expect(duplicates).toEqual([]);
  });

  test("is separate for each subject, also without a secret", async () => {
    const { seen, last, note } = collector();
    const { connection, thief } = await scene({ note, other: () => {} });
    await thief.publish("jobs.any.other", textOf("other", "x"), { msgID: "order 7" });
    const jobs = createClient(durableLink(connection, { subject }));
    const headers = { "nats-msg-id": "order 7" };
    await jobs.notify("other", ["mine"], { headers });
    await jobs.notify("note", ["seven"], { headers });
    await jobs.notify("note", ["last"]);
    await last;
    expect(seen).toEqual(["seven", "last"]);
  });

  test("that is a duplicate is reported with its number in the stream, and logged", async () => {
    const { seen, last, note } = collector();
    const { connection } = await scene({ note });
    const duplicates: DuplicateNotification[] = [];
    const logged: object[] = [];
    const link = durableLink(connection, {
      ...once,
      log: { ...silentLog, warn: (fields) => void logged.push(fields) },
      onDuplicate(duplicate) {
        duplicates.push(duplicate);
        throw new Error("a listener that fails does not fail the notification");
      },
    });
    const jobs = createClient(link);
    const headers = { "nats-msg-id": "order 7" };
    await jobs.notify("note", ["seven"], { headers });
    expect(duplicates).toEqual([]);
    await jobs.notify("note", ["seven again"], { headers });
    await jobs.notify("note", ["last"]);
    await last;
    expect(seen).toEqual(["seven", "last"]);
    const about = {
      method: "note",
      messageId: "order 7",
      subject: "jobs.any.note",
      stream: "JOBS",
      seq: 1,
    };
    expect(duplicates).toEqual([{ ...about, attempts: expect.any(Number) }]);
    expect(logged).toEqual(duplicates);
  });

  test("that is random by default does not reveal the next", async () => {
    const { connection } = await scene({ note: () => {} });
    const ids: string[] = [];
    const both = deferred();
    connection.subscribe("jobs.any.note", {
      callback: (_, { headers }) => {
        if (ids.push(headers?.get("Nats-Msg-Id") ?? "") === 2) both.resolve();
      },
    });
    const jobs = createClient(durableLink(connection, { subject }));
    for (const text of ["one", "two"]) await jobs.notify("note", [text]);
    await both.promise;
    expect(new Set(ids.map((id) => id.slice(0, 8))).size).toBe(2);
  });

  test("of a dead letter cannot be used up before", async () => {
    const { connection, thief } = await scene({ note: () => {} });
    await thief.publish("jobs-dead.any.other", "x", { msgID: "JOBS:1" });
    await createClient(durableLink(connection, { subject })).notify("unknown");
    const manager = await jetstreamManager(connection);
    while ((await manager.streams.info("JOBS")).state.messages > 0);
    expect((await manager.streams.info("JOBS_DEAD")).state.messages).toBe(2);
  });

  test.each(["short", 7, ""])("is made with a secret, which cannot be %j", async (secret) => {
    const connection = await (await TestNats.start()).connect();
    const options = { subject, messageIdSecret: secret as string };
    expect(() => durableLink(connection, options)).toThrow(/"messageIdSecret" must be a string/);
  });
});
