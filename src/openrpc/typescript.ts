import { readDocument } from "./document-reading.ts";
import { isIdentifier, linesOf, literalOf, type MethodTree, methodTree } from "./generated-code.ts";
import type { JsonSchema } from "./json-schema.ts";
import { hasRichValues } from "./rich-schema.ts";
import type { OpenrpcDocument, OpenrpcMethod } from "./specification.ts";
import {
  comment,
  keyOf,
  type Member,
  objectType,
  reserved,
  TypeScriptTypes,
} from "./typescript-types.ts";

/**
 * Writes a typed TypeScript client for a document; the output is deterministic.
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { typescriptClient } from "callwire/openrpc";
 *
 * // Any server with rpc.discover will do, also one that is not callwire's.
 * await writeFile("client.ts", typescriptClient(await client.call("rpc.discover")));
 * ```
 */
export function typescriptClient(document: unknown): string {
  const read = readDocument(document);
  const types = new TypeScriptTypes(read.components?.schemas ?? {});
  const methods = `export interface Methods ${treeType(methodTree(read.methods), types, "")}`;
  const idempotent = read.methods
    .filter((method) => method["x-idempotent"])
    .map(({ name }) => name);
  const positional = read.methods.filter(isByPosition).map(({ name }) => name);
  const { title, version } = read.info;
  const names = ["type Client", "type ClientOptions", "createClient", "type Link", "type Method"];
  if (positional.length > 0) names.push("type Middleware");
  if (methods.includes("data: Schema<")) names.push("type Schema");
  if (methods.includes("result: StreamOf<")) names.push("type StreamOf");
  return [
    `// Made by "callwire generate" from the OpenRPC document of ${linesOf(`${title} ${version}`).join(" ").trim()}; edits are lost.`,
    `import { ${names.join(", ")} } from "callwire";`,
    'import { httpLink } from "callwire/http";',
    'import { webSocketLink } from "callwire/ws";',
    "",
    ...types.declarations().flatMap((declaration) => [declaration, ""]),
    `${comment([`What ${title} offers.`, read.info.description], "")}${methods}`,
    "",
    ...(idempotent.length === 0
      ? []
      : [listOf("idempotent: readonly string[]", idempotent, "", ""), ""]),
    ...(positional.length === 0 ? [] : [middleware(positional), ""]),
    connect(read, idempotent.length > 0, positional.length > 0, hasRichValues(read)),
    "",
  ].join("\n");
}

function treeType(tree: MethodTree, types: TypeScriptTypes, indent: string): string {
  const inner = `${indent}  `;
  const entries = [...tree].map(([key, entry]) => {
    if (entry instanceof Map) {
      return `${inner}readonly ${keyOf(key)}: ${treeType(entry, types, inner)};\n`;
    }
    const about = comment(
      [entry.summary, entry.description, entry.deprecated ? "@deprecated" : undefined],
      inner,
    );
    return `${about}${inner}readonly ${keyOf(key)}: ${methodType(entry, types, inner)};\n`;
  });
  return `{\n${entries.join("")}${indent}}`;
}

function methodType(method: OpenrpcMethod, types: TypeScriptTypes, indent: string): string {
  const inner = `${indent}  `;
  const stream = method["x-stream"];
  const result =
    stream === undefined
      ? types.type(method.result?.schema ?? {}, inner)
      : `StreamOf<${types.type(stream.item, inner)}>`;
  const upload = method["x-upload"];
  const items =
    upload === undefined
      ? ""
      : `${inner}upload: { readonly items: ${types.type(upload.item, inner)} };\n`;
  return `Method<{
${inner}params: ${paramsType(method, types, inner)};
${inner}result: ${result};
${inner}errors: ${errorsType(method, types, inner)};
${items}${indent}}>`;
}

function paramsType(method: OpenrpcMethod, types: TypeScriptTypes, indent: string): string {
  const { params } = method;
  const whole = method["x-params"];
  if (isByPosition(method)) return tupleType(method, whole, types, indent);
  if (whole !== undefined) return types.type(whole, indent);
  if (params.length === 0) return "undefined";
  const members = params.map(
    ({ name, required, schema, description, summary, deprecated }): Member => ({
      key: `readonly ${keyOf(name)}${required ? "" : "?"}`,
      type: types.type(schema, `${indent}  `),
      about: description ?? summary,
      deprecated: deprecated === true,
    }),
  );
  return objectType(members, indent);
}

function tupleType(
  { params }: OpenrpcMethod,
  whole: JsonSchema | undefined,
  types: TypeScriptTypes,
  indent: string,
): string {
  const lastRequired = params.findLastIndex(({ required }) => required === true);
  const labels = new Set<string>();
  const members = params.map(({ name, required, schema }, i) => {
    const isFree = isIdentifier(name) && !reserved.includes(name) && !labels.has(name);
    const label = isFree ? name : `arg${i + 1}`;
    labels.add(label);
    const type = types.type(schema, indent);
    if (required) return `${label}: ${type}`;
    // An optional element cannot come before a required one.
    return i > lastRequired ? `${label}?: ${type}` : `${label}: ${type} | undefined`;
  });
  if (whole !== undefined) {
    const { items, additionalItems } = typeof whole === "object" ? whole : {};
    const rest = Array.isArray(items) ? additionalItems : items;
    members.push(`...more: Array<${types.type((rest ?? true) as JsonSchema, indent)}>`);
  }
  return `[${members.join(", ")}]`;
}

function errorsType(method: OpenrpcMethod, types: TypeScriptTypes, indent: string): string {
  const members = new Map<string, Member>();
  const named = method["x-errors"];
  for (const { name, code, message, data } of named ?? []) {
    const schema = data === undefined ? "" : `; data: Schema<${types.type(data, `${indent}  `)}>`;
    if (!members.has(name))
      members.set(name, { key: keyOf(name), type: `{ code: ${code}${schema} }`, about: message });
  }
  if (named === undefined) {
    for (const { code, message } of method.errors ?? []) {
      members.set(`${code}`, {
        key: keyOf(`${code}`),
        type: `{ code: ${code}; data: Schema<unknown> }`,
        about: message,
      });
    }
  }
  return objectType([...members.values()], indent);
}

function isByPosition(method: OpenrpcMethod): boolean {
  return method.paramStructure === "by-position";
}

function middleware(positional: readonly string[]): string {
  return `${listOf("positional: ReadonlySet<string>", positional, "new Set(", ")")}

/** A single object would be sent as params by name, which these methods do not take. */
const byPosition: Middleware = (next) => (request, context) => {
  const { method, params } = request;
  const isAlone = positional.has(method) && params !== undefined && !Array.isArray(params);
  return next(isAlone ? { ...request, params: [params] } : request, context);
};`;
}

function listOf(declared: string, names: readonly string[], before: string, after: string): string {
  return `const ${declared} = ${before}[\n${names.map((name) => `  ${literalOf(name)},\n`).join("")}]${after};`;
}

function connect(
  document: OpenrpcDocument,
  idempotent: boolean,
  positional: boolean,
  rich: boolean,
): string {
  const url = document.servers
    ?.map((server) => server.url)
    .find((url) => /^(https?|wss?):\/\/[^\s{}$]+$/.test(url));
  const options = [
    ...(idempotent ? ["idempotent"] : []),
    "...options",
    ...(rich ? ['values: "rich" as const'] : []),
    ...(positional ? ["use: [byPosition, ...(options.use ?? [])]"] : []),
  ];
  const given = options.length === 1 ? "options" : `{ ${options.join(", ")} }`;
  return `/** Connects a client to a link, or to an HTTP or WebSocket URL. */
export function connect(to: string | Link${url === undefined ? "" : ` = ${literalOf(url)}`}, options: ${rich ? 'Omit<ClientOptions, "values">' : "ClientOptions"} = {}): Client<Methods${rich ? ', "rich"' : ""}> {
  return createClient<Methods>(typeof to === "string" ? linkTo(to) : to, ${given});
}

function linkTo(url: string): Link {
  return /^wss?:/.test(url) ? webSocketLink(url) : httpLink(url);
}`;
}
