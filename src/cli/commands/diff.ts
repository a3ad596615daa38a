import { printable } from "callwire";
import type { DocumentChange, OpenrpcDocument } from "callwire/openrpc";
import { defineCommand, type Flags, flag } from "../command.ts";
import { refuseExtra } from "../command-arguments.ts";
import { documentFrom } from "../document-source.ts";
import { Failure } from "../failure.ts";
import { serverOptions } from "../server-options.ts";
import { counted, Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<old> <new> [options]",
  options: {
    json: flag("print the changes as JSON; also for failures"),
    breaking: flag("leave out changes that break no caller"),
    ...serverOptions,
  },
  examples: [
    ["callwire diff HEAD~1:openrpc.json openrpc.json", "a file against its last commit"],
    ["callwire diff openrpc.json https://api.example/rpc", "a file against a running server"],
  ],
  async run({ json, breaking, ...flags }, [before, after, ...extra]) {
    if (before === undefined || after === undefined) {
      throw new Failure(
        "diff needs two documents: files, addresses, or revisions of Git with a path",
      );
    }
    refuseExtra("diff", extra[0]);
    const { compareDocuments } = await import("callwire/openrpc");
    const old = await documentOf(before, flags);
    const all = compareDocuments(old, await documentOf(after, flags));
    const changes = breaking ? all.filter((change) => change.breaking) : all;
    const text = json ? `${JSON.stringify(changes, null, 2)}\n` : report(changes);
    new Terminal(process.stdout).write(text);
    if (all.some((change) => change.breaking)) process.exitCode = 1;
  },
});

function documentOf(source: string, flags: Flags<typeof serverOptions>): Promise<OpenrpcDocument> {
  return documentFrom(source, flags, { revisions: true });
}

function report(changes: readonly DocumentChange[]): string {
  if (changes.length === 0) return "no changes\n";
  // Those that break callers come first.
  const sorted = [...changes].sort((a, b) => Number(b.breaking) - Number(a.breaking));
  const lines = sorted.map(({ breaking, method, message }) => {
    const mark = breaking ? "BREAKS" : "ok";
    return `${mark.padEnd(7)} ${printable(method)}: ${printable(message)}\n`;
  });
  const broken = changes.filter(({ breaking }) => breaking).length;
  const sum =
    broken === 0 ? "no change breaks callers" : `${counted(broken, "change")} may break callers`;
  return `${lines.join("")}${sum}\n`;
}
