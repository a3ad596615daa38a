import {
  createTRPCClient,
  httpBatchLink,
  httpSubscriptionLink,
  splitLink,
  TRPCClientError,
} from "@trpc/client";
import type { Methods } from "./server.ts";

const url = process.argv[2] ?? "/trpc";
const client = createTRPCClient<Methods>({
  links: [
    splitLink({
      condition: ({ type }) => type === "subscription",
      true: httpSubscriptionLink({ url }),
      false: httpBatchLink({ url }),
    }),
  ],
});

await client.tasks.add.mutate({ id: "1", title: "Water the plants" });
console.log((await client.tasks.get.query({ id: "1" })).title);
try {
  await client.tasks.get.query({ id: "2" });
} catch (error) {
  if (error instanceof TRPCClientError && error.data?.code === "NOT_FOUND") {
    console.log("no task", error.message);
  }
}
client.tasks.added.subscribe(undefined, { onData: (title) => console.log("added", title) });
