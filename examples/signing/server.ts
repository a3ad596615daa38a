/** Serves signed calls; README.md shows how to create the keys. */
import { readFileSync } from "node:fs";
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import type { SigningKey } from "callwire/security/signing";
import { methods } from "./methods.ts";
import { signedCalls } from "./signed-calls.ts";

const { SIGNING_KEY, PUBLIC_KEY_FILE, PORT = "8000" } = process.env;
const keys: SigningKey[] = [
  ...(SIGNING_KEY ? [{ kid: "python", alg: "hmac-sha256", key: SIGNING_KEY } as const] : []),
  ...(PUBLIC_KEY_FILE
    ? [{ kid: "shell", alg: "ed25519", key: readFileSync(PUBLIC_KEY_FILE, "utf8") } as const]
    : []),
];

const { url } = await serveHttp(createServer(methods, { use: signedCalls(keys) }), {
  port: Number(PORT),
});
console.log(`Listening on ${url}`);
