import { createServer } from "callwire";
import { serveStdio } from "callwire/stdio";

export default async () => {
  await serveStdio(createServer({ add: (a, b) => a + b }), { framing: "content-length" });
  return { framing: "content-length" };
};
