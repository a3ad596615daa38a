import { EventEmitter, once } from "node:events";
import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import WebSocket from "ws";
import { Chain } from "../../examples/ethereum/chain.ts";
import { ethereumMethods } from "../../examples/ethereum/methods.ts";
import { describeWith } from "../services.ts";

// The libraries of wallets against the chain of examples/ethereum.

const address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const balance = 10_000n * 10n ** 18n;

let chain: Chain;
let http: HttpServer;
/** The bodies that were posted. */
let bodies: unknown[];

beforeEach(async () => {
  chain = new Chain({ [address]: balance });
  chain.mine();
  bodies = [];
  const server = createServer(ethereumMethods(chain), { log: silentLog });
  http = await serveHttp(server, { port: 0, path: "/" });
  http.server.prependListener("request", (request) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => bodies.push(JSON.parse(Buffer.concat(chunks).toString())));
  });
});

afterEach(() => http.close());

describeWith(["npm peers"], "viem", () => {
  let viem: typeof import("viem");

  beforeAll(async () => {
    viem = await import("viem");
    // On Node 20 viem uses its own.
    vi.stubGlobal("WebSocket", WebSocket);
  });

  afterAll(() => void vi.unstubAllGlobals());

  test("reads the chain over HTTP", async () => {
    const client = viem.createPublicClient({ transport: viem.http(http.url) });
    expect(await client.getChainId()).toBe(1337);
    expect(await client.getBlockNumber()).toBe(1n);
    expect(await client.getBalance({ address })).toBe(balance);
    const block = await client.getBlock({ blockNumber: 1n });
    expect(block).toMatchObject({ number: 1n, parentHash: chain.block(0n)?.hash });
    expect(await client.request({ method: "net_version" })).toBe("1337");
  });

  test("sends batches over HTTP, of one call too", async () => {
    const client = viem.createPublicClient({ transport: viem.http(http.url, { batch: true }) });
    const answers = await Promise.all([client.getChainId(), client.getBalance({ address })]);
    expect(answers).toEqual([1337, balance]);
    expect(await client.getBlockNumber()).toBe(1n);
    expect(bodies.map((body) => (body as unknown[]).length)).toEqual([2, 1]);
  });

  test("distinguishes an unknown method from invalid params", async () => {
    const client = viem.createPublicClient({ transport: viem.http(http.url) });
    await expect(client.getGasPrice()).rejects.toThrow(viem.MethodNotFoundRpcError);
    const wrong = client.request({ method: "eth_getBalance", params: ["0x1", "latest"] });
    await expect(wrong).rejects.toThrow(viem.InvalidParamsRpcError);
    await expect(client.getBlock({ blockNumber: 99n })).rejects.toThrow(viem.BlockNotFoundError);
  });

  test("receives new blocks over a WebSocket until it unsubscribes", async () => {
    const transport = viem.webSocket(http.url.replace("http", "ws"), { reconnect: false });
    const client = viem.createPublicClient({ transport });
    const numbers: bigint[] = [];
    const pushed = new EventEmitter();
    const seen = once(pushed, "two");
    const { unsubscribe } = await client.transport.subscribe({
      params: ["newHeads"],
      onData: ({ result }) => numbers.push(BigInt(result.number)) === 2 && pushed.emit("two"),
      onError: (error) => pushed.emit("error", error),
    });
    chain.mine();
    chain.mine();
    await seen;
    expect(await unsubscribe()).toMatchObject({ result: true });
    chain.mine();
    expect(numbers).toEqual([2n, 3n]);
    expect(await client.getBlockNumber()).toBe(4n);
    expect(numbers).toHaveLength(2);
    (await client.transport.getRpcClient()).close();
  });
});

describeWith(["npm peers"], "ethers", () => {
  let ethers: typeof import("ethers");

  beforeAll(async () => {
    ethers = await import("ethers");
  });

  test("reads the chain over HTTP, in batches by its own choice", async () => {
    const provider = new ethers.JsonRpcProvider(http.url);
    const [network, number, wei] = await Promise.all([
      provider.getNetwork(),
      provider.getBlockNumber(),
      provider.getBalance(address),
    ]);
    expect([network.chainId, number, wei]).toEqual([1337n, 1, balance]);
    const block = await provider.getBlock("latest");
    expect(block).toMatchObject({ number: 1, hash: chain.head.hash });
    expect(bodies.some((body) => Array.isArray(body) && body.length > 1)).toBe(true);
    provider.destroy();
  });

  test("gets an error for what does not exist", async () => {
    const provider = new ethers.JsonRpcProvider(http.url);
    await expect(provider.send("eth_gasPrice", [])).rejects.toMatchObject({
      error: { code: -32601, message: "Method not found" },
    });
    await expect(provider.send("eth_subscribe", ["newHeads"])).rejects.toMatchObject({
      error: { code: -32000, message: "notifications not supported" },
    });
    provider.destroy();
  });

  test("receives new blocks over a WebSocket", async () => {
    const provider = new ethers.WebSocketProvider(http.url.replace("http", "ws"));
    const first = new Promise<number>((resolve) => void provider.once("block", resolve));
    expect(await provider.getBalance(address)).toBe(balance);
    // When this call is answered, so is its call to eth_subscribe.
    await provider.send("eth_chainId", []);
    chain.mine();
    expect(await first).toBe(2);
    await provider.destroy();
  });
});

describe("the example", () => {
  test("drops the subscriptions of a client that disconnected", async () => {
    const socket = new WebSocket(http.url.replace("http", "ws"));
    await new Promise((resolve) => socket.once("open", resolve));
    const listened = vi.spyOn(chain, "listen");
    socket.send('{"jsonrpc":"2.0","method":"eth_subscribe","params":["newHeads"],"id":1}');
    await new Promise((resolve) => socket.once("message", resolve));
    expect(listened).toHaveBeenCalledTimes(1);
    socket.close();
    await new Promise((resolve) => socket.once("close", resolve));
    await expect.poll(() => chain.listeners).toBe(0);
  });
});
