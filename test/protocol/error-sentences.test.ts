/** Programs read `code` and the members of `data`; sentences are for people and may change. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const comparisons: readonly RegExp[] = [
  /\bisExactly\b/,
  /(?<!typeof [^=]*)\.?\b(message|details|sentence)\)? [!=]== (?!""|"string"|undefined|null|false)/,
  /\.data [!=]== "/,
  /\b(message|details|sentence)\)?\??\.(includes|startsWith|endsWith|match|search|indexOf)\(/,
  /\.(test|exec)\((\(\w+ as \w+\)\.)?(\w+\??\.)*(message|details|sentence)\)/,
  /\/[a-z]*\.(test|exec)\(oneLine\(/,
  /\boneLine\(\w+\)\.(includes|startsWith|endsWith|match)\(/,
  /"[^"]+" [!=]== ([\w.]*\.)?(message|details|sentence)\b/,
  /\bswitch \(([\w.]*\.)?(message|details|sentence)\)/,
  /\.has\(([\w.]*\.)?(message|details|sentence)\)/,
];

/** Lines that look at the words of a program that offers nothing else. */
const allowed: readonly [line: RegExp, why: string][] = [
  [/max_payload/, "the NATS client has no code for it"],
  [/\^OOM/, "Redis has its codes only as the first word of the message"],
  [/maximum \(bytes\|messages\)/, "older releases of nats-server have no code for it"],
  [
    /report\.message === this\.message/,
    "compares two messages of one failure to print one of them",
  ],
  [/bare\.test\(error\.message\)/, "completes a message of another server, for people only"],
  [/notFoundCode\.test\(message\)/, "a whole JSON message, searched for its code"],
  [/notTls\.test\(message\)/, "the number of an OpenSSL error stands in its message only"],
];

const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "src"], {
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file.endsWith(".ts"));

function suspects(source: string): string[] {
  return source
    .split("\n")
    .filter((line) => comparisons.some((comparison) => comparison.test(line)))
    .filter((line) => !allowed.some(([known]) => known.test(line)));
}

test("no module compares the sentences of errors", () => {
  const found = files.flatMap((file) => {
    let source: string;
    try {
      source = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    } catch {
      // Deleted, and not yet committed.
      return [];
    }
    return suspects(source).map((line) => `${file}: ${line.trim()}`);
  });
  expect(files.length).toBeGreaterThan(100);
  expect(found).toEqual([]);
});

test.each([
  "if (isExactly(error, shuttingDown)) return;",
  'if (error.message === "Server is shutting down") return;',
  "return said.code === code && said.message === message;",
  'return reply.error.data === "nothing is served at this path";',
  'if (error.message.includes("shutting down")) return;',
  'if (data.details.startsWith("the call")) return;',
  "return /shutting down/.test(error.message);",
  "return /shutting down/.test((error as Error).message);",
  "return /closed the connection/.test(oneLine(error));",
  'return "Server busy" === error.message;',
  "switch (error.message) {",
  "return stopping.has(error.message);",
])("the check notices: %s", (line) => {
  expect(suspects(line)).toEqual([line]);
});

test.each([
  'return typeof error.message === "string";',
  'const reason = error.message === "" ? error.code : error.message;',
  "if (message === undefined) return;",
])("the check leaves alone: %s", (line) => {
  expect(suspects(line)).toEqual([]);
});
