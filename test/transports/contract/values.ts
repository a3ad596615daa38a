import { deepStrictEqual } from "node:assert";
import { createClient, isRpcError } from "callwire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isFull } from "../../full.ts";
import { oneOfEach, richValue } from "../../rich-values.ts";
import type { ContractMethods } from "../contract-methods.ts";
import { Session, type Wire } from "./wire.ts";

/** Values that JSON cannot express. */
export function testValues(wire: Wire): void {
  const { duplex = true, streams = "credit" } = wire;

  const rich = async (session: Session) =>
    createClient<ContractMethods>((await session.connect()).link, { values: "rich" });

  describe("rich values", () => {
    test("are returned unchanged, whatever they are nested in", async () => {
      const client = await rich(await Session.start(wire));
      deepStrictEqual(await client.call("echo", [oneOfEach]), oneOfEach);
      await fc.assert(
        fc.asyncProperty(richValue, async (value) => {
          deepStrictEqual(await client.call("echo", [value]), value);
        }),
        { numRuns: isFull ? 500 : 25 },
      );
    });

    test("are returned unchanged in a batch", async () => {
      const client = await rich(await Session.start(wire));
      const values = Object.values(oneOfEach);
      const results = await client.batch((api) => values.map((value) => api.echo([value])));
      deepStrictEqual(
        results,
        values.map((value) => [value]),
      );
    });

    test("arrive in the data of an error", async () => {
      const client = await rich(await Session.start(wire));
      const error: unknown = await client
        .call("refuse_with", [oneOfEach])
        .catch((thrown) => thrown);
      expect(isRpcError(error, 1004)).toBe(true);
      deepStrictEqual((error as { data: unknown }).data, oneOfEach);
    });

    test("reach a client without rich values as plain JSON", async () => {
      const { link, client: plain } = await (await Session.start(wire)).connect();
      const sent = createClient(link, { values: "rich" });
      await sent.call("tell", [{ at: oneOfEach.date, holes: oneOfEach.holes }]);
      expect(await plain.call("told")).toEqual([
        { at: "2026-11-18T05:00:00.123Z", holes: [null, null, null] },
      ]);
      deepStrictEqual(await sent.call("told"), [{ at: oneOfEach.date, holes: oneOfEach.holes }]);
    });

    if (streams !== "none") {
      test("arrive as items of a stream", async () => {
        const client = await rich(await Session.start(wire));
        const values = Object.values(oneOfEach);
        const items: unknown[] = [];
        for await (const item of client.stream("items_of", { values })) items.push(item);
        deepStrictEqual(items, values);
      });

      test("arrive as progress", async () => {
        const client = await rich(await Session.start(wire));
        const values = Object.values(oneOfEach);
        const reports: unknown[] = [];
        const onProgress = (value: unknown) => reports.push(value);
        await client.call("reports_of", { values }, { onProgress });
        deepStrictEqual(reports, values);
      });
    }

    if (duplex) {
      test("pass in calls of the server to its client", async () => {
        const received: unknown[] = [];
        const mirror = (value: unknown) => {
          received.push(value);
          return value;
        };
        const { link } = await (await Session.start(wire)).connect({ mirror });
        const client = createClient(link, { values: "rich" });
        deepStrictEqual(await client.call("mirrored", { value: oneOfEach }), oneOfEach);
        deepStrictEqual(received, [oneOfEach]);
      });
    }
  });
}
