/** Serves until it is stopped, with new keys, and prints commands to try. */
import { serveHttp } from "callwire/http/node";
import { auditFile } from "callwire/security/node";
import { httpSigner } from "callwire/security/signing";
import { guardedServer, makeKeys } from "./guarded.ts";

const keys = makeKeys();
const server = guardedServer(keys, auditFile("audit.log"));
const { url } = await serveHttp(server, { port: Number(process.env.PORT ?? 8000) });

const json = { "content-type": "application/json" };
const curl = (headers: Readonly<Record<string, string>>, body: string): string =>
  ["curl -i", url, ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`)]
    .concat(`-d '${body}'`)
    .join(" ");
const body = '{"jsonrpc":"2.0","method":"notes/add","params":{"text":"nails"},"id":1}';
const signed = await httpSigner({ key: keys.robot.signer }).sign({
  method: "POST",
  url,
  headers: json,
  body,
});

console.log(`Listening on ${url}, and writing to audit.log

export ANN=${keys.ann.key}
export ROOT=${keys.root.key}

# A signed request, valid for a minute and once:
${curl(signed, body)}`);

process.once("SIGINT", () => void server.close());
