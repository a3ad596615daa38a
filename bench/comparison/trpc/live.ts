import { createTRPCClient, createWSClient, httpBatchLink, splitLink, wsLink } from "@trpc/client";
import type { Methods } from "./server.ts";

const client = createTRPCClient<Methods>({
  links: [
    splitLink({
      condition: ({ type }) => type === "subscription",
      true: wsLink({ client: createWSClient({ url: "/trpc" }) }),
      false: httpBatchLink({ url: "/trpc" }),
    }),
  ],
});

await client.tasks.add.mutate({ id: "1", title: "Water the plants" });
client.tasks.added.subscribe(undefined, { onData: (title) => console.log("added", title) });
