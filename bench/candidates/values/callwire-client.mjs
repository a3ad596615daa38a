import { createClient, createServer, exchangeLink } from "callwire";
import { dated } from "./dated.mjs";

export function callwire(values) {
  const server = createServer({ add: (a, b) => a + b, dated });
  const link = exchangeLink(async (text) => server.receive(text));
  const client = createClient(link, { values });
  return {
    keepsDates: values === "rich",
    add: () => client.call("add", [1, 2]),
    "100 dates": () => client.call("dated"),
  };
}
