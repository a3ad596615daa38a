import { createORPCClient } from "@orpc/client";
import { RPCLink } from "@orpc/client/fetch";
import { RPCLink as WebSocketLink } from "@orpc/client/websocket";
import type { RouterClient } from "@orpc/server";
import type { methods } from "./server.ts";

type Client = RouterClient<typeof methods>;

const client: Client = createORPCClient(new RPCLink({ url: "/rpc" }));
const live: Client = createORPCClient(
  new WebSocketLink({ websocket: new WebSocket("wss://example.com/rpc") }),
);

await client.tasks.add({ id: "1", title: "Water the plants" });
for await (const title of await live.tasks.added()) console.log("added", title);
