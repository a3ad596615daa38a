import { createClient, method } from "callwire";
import { natsLink } from "callwire/nats";
import { expect, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { TestNats } from "./test-nats.ts";

describeWith(["nats-server"], "an upload over NATS", () => {
  test.each([1, 2, 3])("fails if item %i is lost on its way", async (lost) => {
    const testNats = await TestNats.start();
    const failed = deferred<unknown>();
    const methods = {
      sum: method({ upload: z.number() }, async (_, call) => {
        let sum = 0;
        try {
          for await (const item of call.upload) sum += item;
        } catch (error) {
          failed.resolve(error);
          throw error;
        }
        return sum;
      }),
    };
    await testNats.serve(methods);
    const connection = await testNats.connect();
    const { publish } = connection;
    connection.publish = (subject, payload, options) => {
      const text = typeof payload === "string" ? payload : new TextDecoder().decode(payload);
      if (text.includes("$/upload") && text.includes(`"seq":${lost}}`)) return;
      publish.call(connection, subject, payload, options);
    };
    const client = createClient<typeof methods>(natsLink(connection, { subject: "test" }));
    await expect(client.api.sum(undefined, { upload: [1, 2, 3] })).rejects.toMatchObject({
      data: "items of the upload were lost on their way",
    });
    expect(await failed.promise).toBeInstanceOf(Error);
  });
});
