// What the page does, as a program: `node client.ts http://127.0.0.1:8000/`.
import { contractOptions, createClient, isRpcError, safe } from "callwire";
import { httpLink } from "callwire/http";
import { ticketProtocols } from "callwire/security";
import { webSocketLink } from "callwire/ws";
import { contract } from "./contract.ts";

const [url = "http://127.0.0.1:8000/"] = process.argv.slice(2);
const options = contractOptions(contract, { values: "rich" });

const guest = createClient(httpLink(`${url}rpc`), options);
const refused = await safe(guest.api.session.login({ name: "ann", password: "pear" }));
if (!refused.ok && isRpcError(refused.error, "WRONG_PASSWORD")) console.log("wrong password");

const { token } = await guest.api.session.login({ name: "ann", password: "apple" });
const headers = { authorization: `Bearer ${token}` };
const { api } = createClient(httpLink(`${url}rpc`, { headers }), options);
const live = createClient(
  webSocketLink(`${url}rpc`, {
    credentials: async () => ({ protocols: ticketProtocols(await api.session.ticket()) }),
  }),
  options,
);

const changes = live.api.tasks.changes()[Symbol.asyncIterator]();
await changes.next(); // The subscription has begun.
const task = await api.tasks.create({ title: "Water the plants" });
const { value: change } = await changes.next();
if (change?.kind === "created") console.log("changed:", change.kind, change.task.title);

console.log("done:", (await api.tasks.update({ id: task.id, done: true })).done);
const missing = await safe(api.tasks.update({ id: "none", done: true }));
if (!missing.ok && isRpcError(missing.error, "NOT_FOUND")) {
  console.log("there is no task", missing.error.data.id);
}

const file = new File(["twice a week"], "plants.txt", { type: "text/plain" });
const { attachment } = await api.tasks.attach({ id: task.id, file });
console.log(`${attachment}:`, await (await api.tasks.attachment({ id: task.id })).text());

const onProgress = ({ checked, of }: { checked: number; of: number }) =>
  console.log(`checked ${checked} of ${of}`);
for (const { name, open, done } of await api.report(undefined, { onProgress })) {
  console.log(`${name}: ${open} open, ${done} done`);
}
await live.close();
