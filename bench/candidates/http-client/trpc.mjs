import { createTRPCClient, httpLink } from "@trpc/client";

export default ({ origin }) => {
  const client = createTRPCClient({ links: [httpLink({ url: `${origin}/trpc` })] });
  return (a, b) => client.add.mutate([a, b]);
};
