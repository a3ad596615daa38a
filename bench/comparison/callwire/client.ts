import { createClient, safe } from "callwire";
import { httpLink } from "callwire/http";
import type { methods } from "./server.ts";

const { api } = createClient<typeof methods>(httpLink(process.argv[2] ?? "/rpc"));

await api.tasks.add({ id: "1", title: "Water the plants" });
console.log((await api.tasks.get({ id: "1" })).title);
const missing = await safe(api.tasks.get({ id: "2" }));
if (!missing.ok && missing.error.code === 1404) console.log("no task", missing.error.data.id);
for await (const title of api.tasks.added()) console.log("added", title);
