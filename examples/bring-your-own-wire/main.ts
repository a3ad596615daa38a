// Any wire will do, here UDP: the server needs one line, the client a channel of four members.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createClient, createServer } from "callwire";
import { type Channel, Connection } from "callwire/connection";

const methods = {
  add: (a: number, b: number) => a + b,
  greet: async (name: string) => `Hello, ${name}`,
};

// The server: a string in, a string out.
const server = createServer(methods);
const listening = createSocket("udp4");
listening.on("message", async (datagram, { port, address }) => {
  const reply = await server.receive(datagram.toString());
  if (reply !== undefined) listening.send(reply, port, address);
});
listening.bind(0, "127.0.0.1");
await once(listening, "listening");

// The client: a channel sends strings and reports received ones.
const socket = createSocket("udp4");
socket.connect(listening.address().port, "127.0.0.1");
await once(socket, "connect");
const channel: Channel = {
  bufferedBytes: 0,
  send: (text) => socket.send(text),
  listen(listener) {
    socket.on("message", (datagram) => listener.message(datagram.toString()));
    socket.on("close", () => listener.end());
  },
  close: () => socket.close(),
};

const transport = { kind: "udp", headers: {}, remoteAddress: "127.0.0.1" };
const client = createClient<typeof methods>(new Connection(channel, { transport }));

console.log("2 + 3 =", await client.api.add(2, 3));
console.log(await client.api.greet("UDP"));

await client.close();
await server.close();
listening.close();
