// The board in Next, called over HTTP and rendered on the server.
import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import type { contract } from "../board/contract.ts";
import { buildSite, startSite } from "./site.ts";

await buildSite();
const site = await startSite();
const guest = createClient<typeof contract>(httpLink(`${site.url}rpc`));
const { token } = await guest.api.session.login({ name: "ann", password: "apple" });
const headers = { authorization: `Bearer ${token}` };
const client = createClient<typeof contract>(httpLink(`${site.url}rpc`, { headers }));

const { title } = await client.api.tasks.create({ title: "Water the plants" });
console.log("created over HTTP:", title);
const page = await (await fetch(site.url)).text();
console.log("rendered on the server:", page.includes(title));
console.log("from a route:", await (await fetch(`${site.url}tasks`)).text());

await guest.close();
await client.close();
await site.close();
