import { connect } from "node:net";
import { createServer, method, silentLog } from "callwire";
import { newlineFraming } from "callwire/framing";
import { createSigningKey, signedMessages } from "callwire/security/signing";
import { serveSocket } from "callwire/tcp";
import { expect, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";
import { rawStream } from "../transports/contract.ts";

test("a call that was accepted unsigned does not run as the principal of a later signature", async () => {
  const { signer, verifier } = createSigningKey("ed25519", "client-1");
  const running = deferred();
  const gate = deferred();
  const methods = {
    wait: () => {
      running.resolve();
      return gate.promise;
    },
    wipe: method({ access: { roles: ["operator"] } }, () => "wiped"),
  };
  const keys = [{ ...verifier, principal: { id: "bob", roles: ["operator"] } }];
  await using server = createServer(methods, {
    seal: signedMessages({ keys, unsigned: "pass" }),
    log: silentLog,
    limits: { maxBatchConcurrency: 1 },
  });
  const { port } = await serveSocket(server, { port: 0 });
  const end = rawStream(connect(port as number, "127.0.0.1"), newlineFraming);
  // An attacker in the middle sends first, and the second of these calls waits for the end of the
  // first.
  end.send('[{"jsonrpc":"2.0","method":"wait","id":1},{"jsonrpc":"2.0","method":"wipe","id":2}]');
  await running.promise;
  const seal = signedMessages({ key: signer })();
  end.send(seal.seal('{"jsonrpc":"2.0","method":"wipe","id":3}'));
  expect(await end.inbox.message()).toMatchObject({
    id: 3,
    error: { code: -32001, data: { reason: "principal-changed" } },
  });
  gate.resolve();
  expect(await end.inbox.message()).toMatchObject([{ id: 1 }, { id: 2, error: { code: -32601 } }]);
  end.kill();
});
