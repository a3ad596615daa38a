import { createORPCClient, isDefinedError, safe } from "@orpc/client";
import { RPCLink } from "@orpc/client/fetch";
import type { RouterClient } from "@orpc/server";
import type { methods } from "./server.ts";

const link = new RPCLink({ url: process.argv[2] ?? "/rpc" });
const client: RouterClient<typeof methods> = createORPCClient(link);

await client.tasks.add({ id: "1", title: "Water the plants" });
console.log((await client.tasks.get({ id: "1" })).title);
const { error } = await safe(client.tasks.get({ id: "2" }));
if (isDefinedError(error) && error.code === "NOT_FOUND") console.log("no task", error.data.id);
for await (const title of await client.tasks.added()) console.log("added", title);
