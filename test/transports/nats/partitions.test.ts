import type { NatsConnection } from "@nats-io/transport-node";
import { durableLink } from "callwire/nats/jetstream";
import { expect, test } from "vitest";

test("a durable queue has at most 1,024 partitions", () => {
  const isNot = () => false;
  const connection = { isClosed: isNot, isDraining: isNot } as unknown as NatsConnection;
  for (const partitions of [1_025, -1, 1.5]) {
    expect(() => durableLink(connection, { subject: "jobs", partitions })).toThrow(
      '"partitions" must be an integer from 0 to 1024',
    );
  }
});
