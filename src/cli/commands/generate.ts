import { extname } from "node:path";
import { defineCommand, option } from "../command.ts";
import { oneOf, onlyArgument } from "../command-arguments.ts";
import { documentFrom } from "../document-source.ts";
import { Failure, invalid } from "../failure.ts";
import { checkWritable, writeOutput } from "../files.ts";
import { serverOptions } from "../server-options.ts";
import { counted, notice, Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url | openrpc.json> [options]",
  options: {
    output: option("file", "file to write", { short: "o" }),
    lang: option("language", "ts or python (default: by the file name, or ts)", {
      values: ["ts", "python"],
    }),
    ...serverOptions,
  },
  examples: [
    ["callwire generate http://localhost:8000/rpc -o client.ts", "a client in TypeScript"],
    ["callwire generate openrpc.json -o client.py", "a client in Python, from a document"],
  ],
  async run(flags, positionals) {
    const source = onlyArgument("generate", "an address or a file", positionals);
    const { output } = flags;
    const language = languageOf(flags.lang, output);
    if (output !== undefined) await checkWritable(output);
    const { pythonClient, typescriptClient } = await import("callwire/openrpc");
    const document = await documentFrom(source, flags);
    const text = language === "python" ? pythonClient(document) : typescriptClient(document);
    if (output === undefined) {
      new Terminal(process.stdout).write(text);
      return;
    }
    await writeOutput(output, text);
    const methods = counted(document.methods.length, "method");
    notice(`wrote ${output}, a client in ${names[language]} for ${methods}`);
  },
});

const names = { ts: "TypeScript", python: "Python" } as const;

type Language = keyof typeof names;

const extensions: Readonly<Record<string, Language>> = {
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".py": "python",
};

function languageOf(named: string | undefined, output: string | undefined): Language {
  if (named !== undefined) {
    if (Object.hasOwn(names, named)) return named as Language;
    throw invalid("--lang", "ts or python", named);
  }
  if (output === undefined) return "ts";
  const extension = extname(output);
  const language = Object.hasOwn(extensions, extension) ? extensions[extension] : undefined;
  if (language !== undefined) return language;
  throw new Failure(
    `${output} must end in ${oneOf(Object.keys(extensions))}; or name the language with --lang`,
  );
}
