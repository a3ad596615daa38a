import { method } from "callwire";
import { z } from "zod";
import type { Block, Chain } from "./chain.ts";
import { Subscriptions } from "./subscriptions.ts";

const address = z.string().regex(/^0x[\da-f]{40}$/i, "an address is 0x and 40 digits");
const blockTag = z
  .union([
    z.enum(["latest", "earliest", "pending", "safe", "finalized"]),
    z.templateLiteral(["0x", z.string()]),
  ])
  .default("latest");

/** The methods that wallets use. Params are positional; the schemas name them in order. */
export function ethereumMethods(chain: Chain) {
  const heads = new Subscriptions((push) => chain.listen((block) => push(blockOf(block))));

  const find = (tag: z.infer<typeof blockTag>): Block | undefined => {
    if (tag === "earliest") return chain.block(0n);
    return tag.startsWith("0x") ? chain.block(BigInt(tag)) : chain.head;
  };

  return {
    web3_clientVersion: () => "callwire/ethereum-example",
    net_version: () => String(chain.id),
    eth_chainId: () => quantity(chain.id),
    eth_blockNumber: () => quantity(chain.head.number),

    eth_getBalance: method(
      { params: z.object({ address, block: blockTag }), result: z.string() },
      (params) => quantity(chain.balance(params.address)),
    ),

    eth_getBlockByNumber: method(
      { params: z.object({ block: blockTag, full: z.boolean().default(false) }) },
      (params) => {
        const block = find(params.block);
        return block === undefined ? null : blockOf(block);
      },
    ),

    eth_subscribe: method(
      {
        params: z.object({ kind: z.literal("newHeads") }),
        result: z.string(),
        errors: { CANNOT_PUSH: { code: -32000, message: "notifications not supported" } },
      },
      (_, { peer, transport }, errors) => {
        // Over HTTP the server cannot push after the reply.
        if (!peer.canNotify || transport.kind === "http") throw errors.CANNOT_PUSH();
        return heads.add(peer);
      },
    ),

    eth_unsubscribe: method(
      { params: z.object({ subscription: z.string() }), result: z.boolean() },
      ({ subscription }, { peer }) => heads.remove(peer, subscription),
    ),
  };
}

/** Numbers are hexadecimal strings, because JSON numbers are too small. */
function quantity(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function blockOf({ number, hash, parentHash, timestamp }: Block) {
  const zeros = (bytes: number): string => `0x${"00".repeat(bytes)}`;
  return {
    number: quantity(number),
    hash,
    parentHash,
    timestamp: quantity(timestamp),
    miner: zeros(20),
    nonce: zeros(8),
    mixHash: zeros(32),
    sha3Uncles: zeros(32),
    stateRoot: zeros(32),
    transactionsRoot: zeros(32),
    receiptsRoot: zeros(32),
    logsBloom: zeros(256),
    extraData: "0x",
    size: "0x0",
    difficulty: "0x0",
    totalDifficulty: "0x0",
    gasLimit: quantity(30_000_000n),
    gasUsed: "0x0",
    baseFeePerGas: quantity(7n),
    transactions: [],
    uncles: [],
  };
}
