import { once } from "node:events";
import { connect as connectSocket } from "node:net";
import { createClient, createServer, method, silentLog } from "callwire";
import { natsLink } from "callwire/nats";
import { durableLink, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { TestNats } from "./test-nats.ts";

/** Headers that NATS's own client for Node cannot read, and other clients send. */
const badHeaders = "NATS/1.0\r\nmy tenant: blue\r\n\r\n";

/** Publishes as a client in another language may; resolves when nats-server has it. */
async function publish(port: number, subject: string, body: string, reply = ""): Promise<void> {
  const socket = connectSocket(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write('CONNECT {"verbose":false,"headers":true}\r\n');
  const length = Buffer.byteLength(body);
  const sizes = `${badHeaders.length} ${badHeaders.length + length}`;
  socket.write(`HPUB ${subject} ${reply} ${sizes}\r\n${badHeaders}${body}\r\nPING\r\n`);
  for (let said = ""; !said.includes("PONG"); ) said += (await once(socket, "data"))[0];
}

describeWith(["nats-server"], "headers that cannot be read", () => {
  test("are refused by a worker, which continues answering", async () => {
    const testNats = await TestNats.start();
    let runs = 0;
    const { connection } = await testNats.serve({
      add: (a: number, b: number) => {
        runs++;
        return a + b;
      },
    });
    const listener = await testNats.connect();
    const answers: unknown[] = [];
    const both = deferred();
    listener.subscribe("_INBOX.answers", {
      callback: (_, message) => {
        answers.push(message.json());
        if (answers.length === 2) both.resolve();
      },
    });
    await listener.flush();
    const { port } = testNats.nats;
    const call = '{"jsonrpc":"2.0","method":"add","params":[1,2],"id":7}';
    await publish(port, "test.add", call, "_INBOX.answers");
    await publish(port, "test.$batch", `[${call}]`, "_INBOX.answers");
    await both.promise;
    const error = {
      code: -32600,
      message: "Invalid Request",
      data: "its headers cannot be read, or are longer than 16 KiB",
    };
    expect(answers).toEqual([{ jsonrpc: "2.0", id: 7, error }, [{ jsonrpc: "2.0", id: 7, error }]]);
    const client = createClient(natsLink(await testNats.connect(), { subject: "test" }));
    expect(await client.call("add", [2, 3])).toBe(5);
    expect(runs).toBe(1);
    expect(connection.isClosed()).toBe(false);
  });

  test("do not keep a reply from its caller", async () => {
    const testNats = await TestNats.start();
    const other = await testNats.connect();
    other.subscribe("foreign.add", {
      callback: (_, message) => {
        const { id } = message.json<{ id: number }>();
        void publish(
          testNats.nats.port,
          message.reply ?? "",
          `{"jsonrpc":"2.0","id":${id},"result":5}`,
        );
      },
    });
    await other.flush();
    const client = createClient(natsLink(await testNats.connect(), { subject: "foreign" }));
    expect(await client.call("add", [2, 3])).toBe(5);
    expect(await client.call("add", [2, 3])).toBe(5);
  });

  test("bring a durable notification to the dead letters", async () => {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const connection = await testNats.connect();
    const handled = deferred();
    const server = createServer({ note: method({}, () => handled.resolve()) }, { log: silentLog });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const where = { subject: "jobs" };
    await serveDurable(server, connection, { ...where, storage: "memory" });
    const dead = deferred<string>();
    connection.subscribe("jobs-dead.>", {
      callback: (_, message) => dead.resolve(message.headers?.get("error-code") ?? ""),
    });
    await connection.flush();
    await publish(testNats.nats.port, "jobs.any.note", '{"jsonrpc":"2.0","method":"note"}');
    expect(await dead.promise).toBe("-32600");
    await createClient(durableLink(connection, where)).notify("note");
    await handled.promise;
  });
});
