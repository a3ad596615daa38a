import { connect } from "@nats-io/transport-node";
import { createClient, createServer } from "callwire";
import { natsLink, serveNats } from "callwire/nats";

export default async ({ origin }) => {
  const { port } = new URL(origin);
  const [caller, worker] = await Promise.all([connect({ port }), connect({ port })]);
  const server = createServer({ add: (a, b) => a + b, echo: (text) => text });
  await serveNats(server, worker, { subject: "callwire" });
  const { api } = createClient(natsLink(caller, { subject: "callwire" }));
  return { add: (a, b) => api.add(a, b), echo: (text) => api.echo(text) };
};
