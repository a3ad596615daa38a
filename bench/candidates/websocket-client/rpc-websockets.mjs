import { once } from "node:events";
import { Client } from "rpc-websockets";

export default async ({ origin }) => {
  const client = new Client(origin.replace("http", "ws"));
  await once(client, "open");
  return (a, b) => client.call("add", [a, b]);
};
