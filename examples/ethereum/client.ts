import { EventEmitter, on } from "node:events";
import { createClient, createServer } from "callwire";
import { httpLink } from "callwire/http";
import { connectWebSocket } from "callwire/ws";
import type { ethereumMethods } from "./methods.ts";

type Ethereum = ReturnType<typeof ethereumMethods>;
const url = process.argv[2] ?? "http://127.0.0.1:8545/";

// Over HTTP, like wallets: concurrent calls are sent as one batch.
await using client = createClient<Ethereum>(httpLink(url), { batch: true });
const address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const [chainId, wei] = await Promise.all([
  client.api.eth_chainId(),
  client.call("eth_getBalance", [address, "latest"]),
]);
console.log(`chain ${Number(chainId)}, balance ${BigInt(wei) / 10n ** 18n} ether`);

// Over WebSocket the server pushes notifications to our methods.
const pushed = new EventEmitter();
const own = createServer({
  eth_subscription: ({ result }: { result: { number: string } }) => {
    pushed.emit("head", result);
  },
});
await using connection = await connectWebSocket(url, { service: own });
const heads = on(pushed, "head");
const subscription = await connection.call("eth_subscribe", ["newHeads"]);

let count = 0;
let last: number | undefined;
for await (const [head] of heads) {
  const number = Number(head.number);
  if (last !== undefined && number !== last + 1)
    throw new Error(`a block before ${number} is missing`);
  last = number;
  if (++count === 3) break;
}
console.log(`heard of ${count} new blocks, none missing`);
console.log("unsubscribed:", await connection.call("eth_unsubscribe", [subscription]));
