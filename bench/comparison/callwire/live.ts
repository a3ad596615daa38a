import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { webSocketLink } from "callwire/ws";
import type { methods } from "./server.ts";

const { api } = createClient<typeof methods>(httpLink("/rpc"));
const { api: live } = createClient<typeof methods>(webSocketLink("/rpc"));

await api.tasks.add({ id: "1", title: "Water the plants" });
for await (const title of live.tasks.added()) console.log("added", title);
