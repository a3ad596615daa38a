import { createClient, createServer, isRpcError } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import {
  createSigningKey,
  httpSigner,
  signedMessages,
  signParams,
} from "callwire/security/signing";
import { serveSocket, tcpLink } from "callwire/tcp";
import { methods } from "./methods.ts";
import { signedCalls } from "./signed-calls.ts";

const alice = createSigningKey("ed25519", "alice");
const bob = createSigningKey("hmac-sha256", "bob");
const host = createSigningKey("ed25519", "host");
const keys = [alice.verifier, bob.verifier];

const server = createServer(methods, { use: signedCalls(keys) });
const http = await serveHttp(server, { port: 0 });

/** The error of a rejected call. */
async function reason(call: Promise<unknown>): Promise<string> {
  const error = await call.catch((thrown: unknown) => thrown);
  const { data } = isRpcError(error) ? (error as { data?: { reason?: string } }) : {};
  return data?.reason ?? String(error);
}

// Signed in the headers (RFC 9421).
const signed = createClient<typeof methods>(
  httpLink(http.url, { signer: httpSigner({ key: alice.signer }) }),
);
console.log(`headers: ${await signed.call("whoami")}`);

// Signed in the params, for clients that cannot set headers.
const inParams = createClient<typeof methods>(httpLink(http.url), {
  use: [signParams({ key: bob.signer })],
});
console.log(`params: ${await inParams.call("transfer", { amount: 100 })}`);

// An attacker replays a request, or changes it.
const onTheWay = (change: (body: string) => string, times: number) =>
  createClient<typeof methods>(
    httpLink(http.url, {
      signer: httpSigner({ key: alice.signer }),
      async fetch(url, init) {
        const sent = { ...init, body: change(String(init.body)) };
        for (let i = 1; i < times; i++) await (await fetch(url, sent)).text();
        return fetch(url, sent);
      },
    }),
  ).call("transfer", { amount: 100 });
console.log(`sent twice: ${await reason(onTheWay((body) => body, 2))}`);
const raised = onTheWay((body) => body.replace("100", "999"), 1);
console.log(`changed: ${await reason(raised)}`);

// Calls without a signature are rejected.
const unsigned = createClient<typeof methods>(httpLink(http.url));
console.log(`unsigned: ${await reason(unsigned.call("whoami"))}`);

// On wires without headers, every message is signed in both directions.
const duplex = createServer(methods, { seal: signedMessages({ key: host.signer, keys }) });
const { port } = await serveSocket(duplex, { port: 0 });
const overTcp = createClient<typeof methods>(
  tcpLink({
    port: port as number,
    seal: signedMessages({ key: alice.signer, keys: [host.verifier] }),
  }),
);
console.log(`TCP: ${await overTcp.call("whoami")}`);

await Promise.all([signed, inParams, unsigned, overTcp].map((client) => client.close()));
await Promise.all([server.close(), duplex.close()]);
