import { a2aClient } from "callwire/a2a";

const [, , address = "http://127.0.0.1:8000"] = process.argv;
const agent = await a2aClient(new URL(address).origin);
console.log(`Found ${agent.card.name}`);
for await (const event of agent.stream({
  messageId: "tck-stream-artifact-chunked",
  role: "ROLE_USER",
  parts: [{ text: "Go" }],
})) {
  if ("artifactUpdate" in event) console.log(event.artifactUpdate.artifact.parts[0]?.text);
  if ("statusUpdate" in event) console.log(event.statusUpdate.status.state);
}
await agent.close();
