import { createServer } from "callwire";
import { serveStdio } from "callwire/stdio";

export default async () => {
  await serveStdio(createServer({ add: (a, b) => a + b }));
  return { framing: "newline" };
};
