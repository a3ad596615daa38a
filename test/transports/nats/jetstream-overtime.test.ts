import { jetstreamManager } from "@nats-io/jetstream";
import {
  type Clock,
  createClient,
  createServer,
  type Methods,
  method,
  type ServerOptions,
  silentLog,
  systemClock,
} from "callwire";
import { durableLink, type ServeDurableOptions, serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { patient, TestNats } from "./test-nats.ts";

describeWith(
  ["nats-server"],
  "durable notifications whose method continues after its timeout",
  () => {
    async function setUp(
      methods: Methods,
      options: Partial<ServeDurableOptions> & { readonly server?: ServerOptions } = {},
    ) {
      const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
      const { server: own, ...rest } = options;
      const server = createServer(methods, { log: silentLog, timeoutMs: 50, ...own });
      onTestFinished(() => server.close({ drainMs: 0 }));
      const connection = await testNats.connect();
      const where = { subject: "jobs", partitions: 1 };
      const quick = { delayMs: 1, storage: "memory" } as const;
      const worker = await serveDurable(server, connection, { ...where, ...quick, ...rest });
      const jobs = createClient(
        durableLink(await testNats.connect(), { ...where, key: () => "k" }),
      );
      return { jobs, connection, worker };
    }

    test("wait for its end before they are tried again or later ones are handled", async () => {
      const [gate, timedOut, all] = [deferred(), deferred(), deferred()];
      const seen: string[] = [];
      const work = method({ params: z.tuple([z.string()]) }, async ([name], { signal }) => {
        seen.push(`${name} begins`);
        signal.addEventListener("abort", () => timedOut.resolve());
        if (name === "long") await gate.promise;
        seen.push(`${name} ends`);
        if (name === "next") all.resolve();
      });
      const { jobs, connection } = await setUp({ work });
      const signs = connection.subscribe("$JS.ACK.>", { max: 3 });
      vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
      onTestFinished(() => void vi.useRealTimers());
      await jobs.notify("work", ["long"]);
      await jobs.notify("work", ["next"]);
      await timedOut.promise;
      // It continues to report that it works.
      vi.advanceTimersByTime(6_000);
      for await (const message of signs) expect(message.string()).toBe("+WPI");
      expect(seen).toEqual(["long begins"]);
      gate.resolve();
      await all.promise;
      const again = ["long begins", "long ends"];
      expect(seen).toEqual([...again, ...again, "next begins", "next ends"]);
    });

    test("go to the dead letters only when it has ended", async () => {
      const gate = deferred();
      const timedOut = deferred();
      const work = method({}, async (_, { signal }) => {
        signal.addEventListener("abort", () => timedOut.resolve());
        await gate.promise;
      });
      const { jobs, connection } = await setUp({ work }, { maxTries: 1 });
      const buried = deferred<string | undefined>();
      let isOver = false;
      connection.subscribe("jobs-dead.>", {
        callback: (_, { headers }) => buried.resolve(isOver ? headers?.get("error-code") : "early"),
      });
      await jobs.notify("work");
      await timedOut.promise;
      const manager = await jetstreamManager(connection, patient);
      for (let i = 0; i < 20; i++) await manager.streams.info("JOBS_DEAD");
      isOver = true;
      gate.resolve();
      expect(await buried.promise).toBe("-32003");
    });

    test("wait no longer than ten minutes", async () => {
      const over = deferred<() => void>();
      const clock: Clock = {
        now: () => systemClock.now(),
        elapsed: () => systemClock.elapsed(),
        after(ms, run, holds) {
          if (ms !== 600_000) return systemClock.after(ms, run, holds);
          over.resolve(run);
          return { cancel() {} };
        },
      };
      const told: string[] = [];
      const warn = (_: object, sentence: string) => told.push(sentence);
      let tries = 0;
      const done = deferred();
      const work = () => (++tries === 2 ? done.resolve() : new Promise<void>(() => {}));
      const { jobs } = await setUp({ work }, { server: { clock, log: { ...silentLog, warn } } });
      await jobs.notify("work");
      const pass = await over.promise;
      expect(tries).toBe(1);
      pass();
      await done.promise;
      expect(told).toEqual(["method still runs long after its timeout; released its notification"]);
    });

    test("do not keep their worker from closing", async () => {
      const timedOut = deferred();
      let tries = 0;
      const again = deferred();
      const work = method({}, (_, { signal }) => {
        if (++tries === 2) return again.resolve();
        signal.addEventListener("abort", () => timedOut.resolve());
        return new Promise<void>(() => {});
      });
      const { jobs, connection, worker } = await setUp({ work }, { drainMs: 50 });
      await jobs.notify("work");
      await timedOut.promise;
      await worker.close();
      const server = createServer({ work }, { log: silentLog });
      onTestFinished(() => server.close({ drainMs: 0 }));
      await serveDurable(server, connection, { subject: "jobs", partitions: 1 });
      await again.promise;
    });
  },
);
