/** Generated clients, each written to its own folder and run as users would run them. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createServer, type Methods, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { type OpenrpcDocument, openrpcDocument } from "callwire/openrpc";
import { onTestFinished } from "vitest";
import { root } from "../entries.ts";
import { waitMs } from "../limits.ts";

const run = promisify(execFile);

/** A folder in which the package is installed. */
export class Workplace implements AsyncDisposable {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  write(name: string, text: string): Promise<void> {
    return writeFile(join(this.folder, name), text);
  }

  /** The errors that the compiler finds in these files, at its strictest. */
  async compile(...files: string[]): Promise<string> {
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const options = {
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noUnusedLocals: true,
      noUnusedParameters: true,
      noImplicitReturns: true,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
      module: "nodenext",
      target: "es2022",
      lib: ["es2023", "dom", "esnext.disposable"],
      types: [],
      skipLibCheck: true,
      outDir: "out",
    };
    await this.write("tsconfig.json", JSON.stringify({ compilerOptions: options, files }));
    return this.#output(process.execPath, [tsc, "-p", "tsconfig.json"]);
  }

  node(...args: string[]): Promise<string> {
    return this.#output(process.execPath, args);
  }

  python(...args: string[]): Promise<string> {
    return this.#output("python3", args);
  }

  async #output(command: string, args: readonly string[]): Promise<string> {
    try {
      // If colours are forced, programs print numbers in yellow.
      const { FORCE_COLOR: _, ...env } = process.env;
      const { stdout } = await run(command, args, { cwd: this.folder, env, timeout: waitMs });
      return stdout;
    } catch (error) {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      return `${stdout}${stderr}` || String(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

export async function workplace(): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), "callwire-openrpc-"));
  await writeFile(join(folder, "package.json"), `{ "private": true, "type": "module" }`);
  await mkdir(join(folder, "node_modules"));
  await symlink(root, join(folder, "node_modules", "callwire"), "dir");
  return new Workplace(folder);
}

export interface ServedClient {
  readonly place: Workplace;
  /** The address of the server. */
  readonly origin: string;
}

/** Serves methods, and writes the client that is generated for them to a folder; both end with the test. */
export async function servedClient(
  methods: Methods,
  file: string,
  generate: (document: OpenrpcDocument) => string,
): Promise<ServedClient> {
  const server = createServer(methods, { log: silentLog });
  onTestFinished(() => server.close());
  const { url } = await serveHttp(server, { port: 0 });
  const place = await workplace();
  onTestFinished(() => place[Symbol.asyncDispose]());
  await place.write(file, generate(openrpcDocument(server.methods, { servers: [{ url }] })));
  return { place, origin: new URL(url).origin };
}

/** A program of docs/openrpc.md, which calls the demo at this origin. */
export async function programInDocs(language: string, origin: string): Promise<string> {
  const text = await readFile(join(root, "docs", "openrpc.md"), "utf8");
  const [, program] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(text) ?? [];
  if (program === undefined) throw new Error(`docs/openrpc.md has no program in ${language}`);
  return program.replaceAll("http://localhost:8000", origin);
}
