/** Puts a gateway in front of a Python program on stdio, and calls it over HTTP and WebSocket. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient, RpcError } from "callwire";
import { httpLink } from "callwire/http";
import { webSocketLink } from "callwire/ws";

interface Words {
  words: {
    count(text: string): Record<string, number>;
    longest(text: string): string;
  };
}

const callwire = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const python = fileURLToPath(new URL("words.py", import.meta.url));
const gateway = spawn(
  process.execPath,
  [callwire, "gateway", "--to", `stdio:python3 "${python}"`, "--port", "0"],
  { stdio: ["ignore", "pipe", "inherit"] },
);
try {
  const url = await addressOf(gateway.stdout);
  await using http = createClient<Words>(httpLink(url));
  console.log(await http.api.words.count("to be or not to be"));
  await using ws = createClient<Words>(webSocketLink(`${url.replace("http", "ws")}/ws`));
  console.log(await ws.api.words.longest("a gateway in front of Python"));
  await using untyped = createClient(httpLink(url));
  await untyped.call("words/shortest", ["a b"]).catch((error: unknown) => {
    if (error instanceof RpcError) console.log(error.code, error.message);
  });
} finally {
  gateway.kill();
}

/** The address that the gateway prints when it is ready. */
async function addressOf(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(output)) {
    const [url] = /http:\/\/\S+\/rpc/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error("The gateway did not start");
}
