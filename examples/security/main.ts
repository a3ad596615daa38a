/** Shows every kind of rejected call, and its audit log entry. */
import { serveHttp } from "callwire/http/node";
import { httpSigner } from "callwire/security/signing";
import { guardedServer, makeKeys } from "./guarded.ts";

const keys = makeKeys();
const audit: string[] = [];
const server = guardedServer(keys, (line) => audit.push(line));
const { url } = await serveHttp(server, { port: 0 });

const json = { "content-type": "application/json" };

async function post(headers: Readonly<Record<string, string>>, body: string): Promise<string> {
  const response = await fetch(url, { method: "POST", headers: { ...json, ...headers }, body });
  const { result, error } = (await response.json()) as {
    result?: unknown;
    error?: { message: string; data?: { reason?: string } };
  };
  const text = error === undefined ? JSON.stringify(result) : error.message;
  const reason = error?.data?.reason === undefined ? "" : ` (${error.data.reason})`;
  const again = response.headers.get("retry-after");
  return `${response.status} ${text}${reason}${again === null ? "" : `, again in ${again} s`}`;
}

const call = (method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 });

const ann = { "x-api-key": keys.ann.key };
const root = { "x-api-key": keys.root.key };

console.log(`nobody:          ${await post({}, call("notes/list"))}`);
console.log(`a made-up key:   ${await post({ "x-api-key": "ann.guess" }, call("notes/list"))}`);
console.log(`ann lists:       ${await post(ann, call("notes/list"))}`);
console.log(`ann wipes:       ${await post(ann, call("notes/wipe"))}`);
console.log(`ann, no method:  ${await post(ann, call("notes/none"))}`);
console.log(`root wipes:      ${await post(root, call("notes/wipe"))}`);

const body = call("notes/add", { text: "nails" });
const { sign } = httpSigner({ key: keys.robot.signer });
const signed = await sign({ method: "POST", url, headers: json, body });
console.log(`robot adds:      ${await post(signed, body)}`);
console.log(`the same again:  ${await post(signed, body)}`);
const other = await sign({ method: "POST", url, headers: json, body });
console.log(`tampered with:   ${await post(other, body.replace("nails", "bombs"))}`);

for (const turn of ["first", "second"]) {
  console.log(`${`${turn} report:`.padEnd(16)} ${await post(ann, call("report"))}`);
}

console.log("audit log:");
for (const line of audit) {
  const { decision, principal = "nobody", method, reason = "" } = JSON.parse(line);
  console.log(`  ${decision.padEnd(5)} ${principal.padEnd(6)} ${method} ${reason}`.trimEnd());
}
await server.close();
