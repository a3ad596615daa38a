/** Every agent tries every method; forbidden calls are rejected and logged. */
import { createClient, isRpcError } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { keys, officeOf } from "./agents.ts";

const audit: string[] = [];
const office = officeOf((line) => audit.push(line));
const { url } = await serveHttp(office, { port: 0 });

const attempts = ["search/web", "plan/show", "system/users/remove", "files/read", "files/write"];
for (const [agent, { key }] of Object.entries(keys)) {
  await using client = createClient(httpLink(url, { headers: { "x-api-key": key } }));
  const outcomes: string[] = [];
  for (const method of attempts) {
    const refused = await client.call(method, ["bees"]).then(
      () => false,
      (error: unknown) => isRpcError(error, -32004),
    );
    outcomes.push(`${refused ? "no " : "yes"} ${method}`);
  }
  console.log(`${agent}: ${outcomes.join(", ")}`);
}

const denied = audit.map((line) => JSON.parse(line)).filter(({ decision }) => decision === "deny");
console.log(`refused and written down: ${denied.length} of ${audit.length}`);
await office.close();
