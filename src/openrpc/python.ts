import { readDocument } from "./document-reading.ts";
import { linesOf, literalOf, type MethodTree, methodTree } from "./generated-code.ts";
import type { JsonSchema } from "./json-schema.ts";
import { httpWires } from "./python-http.ts";
import { richImports, richValues } from "./python-rich-values.ts";
import { clients, imports, messages } from "./python-runtime.ts";
import { docstring, PythonTypes, pythonName } from "./python-types.ts";
import { socketWires } from "./python-websocket.ts";
import { type RichForm, richFormOf } from "./rich-form.ts";
import { hasRichValues } from "./rich-schema.ts";
import { pascal } from "./shared-schemas.ts";
import type { OpenrpcMethod } from "./specification.ts";

/**
 * Writes a Python client that needs only the standard library (Python 3.8 or later).
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { openrpcDocument, pythonClient } from "callwire/openrpc";
 *
 * await writeFile("client.py", pythonClient(openrpcDocument(methods)));
 * ```
 */
export function pythonClient(document: unknown): string {
  const read = readDocument(document);
  const types = new PythonTypes(read.components?.schemas ?? {}, read.methods.flatMap(namesIn));
  const groups: string[] = [];
  const components = read.components?.schemas ?? {};
  groupClasses(["Api", "AsyncApi"], methodTree(read.methods), { types, components }, groups);
  const rich = hasRichValues(read);
  const { title, version } = read.info;
  const url = read.servers
    ?.map((server) => server.url)
    .find((one) => /^(https?|wss?):\/\/[^\s{}$]+$/.test(one));
  const about = `Made by "callwire generate" from the OpenRPC document of ${linesOf(`${title} ${version}`).join(" ").trim()}; edits are lost.`;
  return [
    `${docstring([about], "").trimEnd()}\n${rich ? richImports : imports}`,
    ...types.declarations(),
    messages(rich),
    ...(rich ? [richValues] : []),
    clients(url === undefined ? "url: str" : `url: str = ${literalOf(url)}`, rich),
    httpWires,
    socketWires,
    ...groups,
  ]
    .join("\n\n\n")
    .concat("\n");
}

/** The names that a method adds to the scope of type hints. */
function namesIn({ name, params }: OpenrpcMethod): string[] {
  return [name, ...name.split("/"), ...params.map((param) => param.name)].map(pythonName);
}

interface Described {
  readonly types: PythonTypes;
  readonly components: Readonly<Record<string, JsonSchema>>;
}

/** The class of a group of methods for each of the two clients. */
function groupClasses(
  names: readonly [name: string, asyncName: string],
  tree: MethodTree,
  described: Described,
  groups: string[],
): void {
  const { types } = described;
  const attributes = types.scope();
  const fields: [string[], string[]] = [[], []];
  const methods: [string[], string[]] = [[], []];
  for (const [key, entry] of tree) {
    const attribute = attributes.claim(key);
    if (entry instanceof Map) {
      const inner = `${names[0] === "Api" ? "" : names[0]}${pascal(key)}Api`;
      const claimed = [types.claim(inner), types.claim(`Async${inner}`)] as const;
      claimed.forEach((name, i) => {
        fields[i]?.push(`        self.${attribute} = ${name}(client)\n`);
      });
      groupClasses(claimed, entry, described, groups);
    } else {
      methodCodes(attribute, entry, described).forEach((code, i) => {
        methods[i]?.push(code);
      });
    }
  }
  names.forEach((name, i) => {
    const client = i === 0 ? "Client" : "AsyncClient";
    const head = `class ${name}:\n    def __init__(self, client: ${client}) -> None:\n        self._client = client\n${fields[i]?.join("")}`;
    groups.push([head, ...(methods[i] ?? [])].join("\n").trimEnd());
  });
}

/** A method for each of the two clients. */
function methodCodes(attribute: string, method: OpenrpcMethod, described: Described): string[] {
  const { types, components } = described;
  const place = pascal(method.name) || "Method";
  const stream = method["x-stream"];
  const item = stream === undefined ? undefined : types.hint(stream.item, `${place}Item`);
  const result = types.hint(
    stream === undefined ? (method.result?.schema ?? true) : true,
    `${place}Result`,
  );
  const { signature, params, timeout } = paramsCode(method, place, types);
  const about = docstring(
    [
      method.summary,
      method.description,
      method.deprecated ? "Deprecated." : undefined,
      method["x-upload"] ? "Takes an upload, which this client cannot send." : undefined,
      ...errorLines(method),
    ],
    "        ",
  );
  const verb = stream === undefined ? "call" : "stream";
  const form = paramsForm(method, components);
  const given = form === undefined ? params : `${params}, ${literalOf(form)}`;
  const call = `self._client.${verb}(${literalOf(method.name)}, ${given}, timeout=${timeout})`;
  const args = ["self", ...signature].join(", ");
  if (item !== undefined) {
    const body = `${about}        return ${call}\n`;
    return ["Iterator", "AsyncIterator"].map(
      (kind) => `    def ${attribute}(${args}) -> ${kind}[${item}]:\n${body}`,
    );
  }
  return [
    ["def", call],
    ["async def", `await ${call}`],
  ].map(([def, value]) => {
    // A typed variable tells type checkers the type of the result.
    const body =
      result === "Any"
        ? `        return ${value}\n`
        : `        _reply: ${result} = ${value}\n        return _reply\n`;
    return `    ${def} ${attribute}(${args}) -> ${result}:\n${about}${body}`;
  });
}

/** Where the params have values that Python writes differently, such as an `int` that is a bigint. */
function paramsForm(
  { params, paramStructure, ...method }: OpenrpcMethod,
  components: Described["components"],
): RichForm | undefined {
  const whole = method["x-params"];
  const forms = params.map(({ schema }) => richFormOf(schema, components) ?? {});
  const hasForms = forms.some((form) => Object.keys(form).length > 0);
  if (paramStructure === "by-position") return hasForms ? { places: forms } : undefined;
  if (whole !== undefined) return richFormOf(whole, components);
  const members = params.map(({ name }, i) => [name, forms[i] as RichForm] as const);
  return hasForms ? { members: Object.fromEntries(members) } : undefined;
}

function errorLines(method: OpenrpcMethod): string[] {
  const named = (method["x-errors"] ?? []).map(
    ({ name, code }) => `Raises RpcError ${code} (${name}).`,
  );
  if (named.length > 0) return named;
  return (method.errors ?? []).map(({ code, message }) => `Raises RpcError ${code} (${message}).`);
}

function paramsCode(
  method: OpenrpcMethod,
  place: string,
  types: PythonTypes,
): { readonly signature: readonly string[]; readonly params: string; readonly timeout: string } {
  const whole = method["x-params"];
  const isByPosition = method.paramStructure === "by-position";
  if (whole !== undefined && !isByPosition) {
    const hint = types.hint(whole, `${place}Params`);
    const only = `params: ${hint} = _OMITTED`;
    return { signature: [only, "*", timeoutCode("timeout")], params: "params", timeout: "timeout" };
  }
  const names = types.scope();
  const list = method.params.map(({ name, required, schema }) => ({
    name,
    argument: names.claim(name),
    hint: types.hint(schema, place + pascal(name)),
    required: required === true,
  }));
  const firstOptional = list.findIndex(({ required }) => !required);
  const signature = list.flatMap(({ argument, hint, required }, i) => {
    const code = required ? `${argument}: ${hint}` : `${argument}: ${hint} = _OMITTED`;
    // A required argument after an optional one must be keyword-only.
    const isFirstBehind =
      required &&
      firstOptional >= 0 &&
      i > firstOptional &&
      !list.slice(firstOptional, i).some((one) => one.required);
    return isFirstBehind && !isByPosition ? ["*", code] : [code];
  });
  if (!isByPosition) {
    const members = list.map(({ name, argument }) => `${literalOf(name)}: ${argument}`);
    const timeout = names.claim("timeout");
    const star = signature.includes("*") ? [] : ["*"];
    return {
      signature: [...signature, ...star, timeoutCode(timeout)],
      timeout,
      params: members.length === 0 ? "_OMITTED" : `_named({${members.join(", ")}})`,
    };
  }
  const lastRequired = list.findLastIndex(({ required }) => required);
  const positional = list.map(({ argument, hint }, i) =>
    i <= lastRequired ? `${argument}: ${hint}` : `${argument}: ${hint} = _OMITTED`,
  );
  const more = whole === undefined ? [] : [`*${names.claim("more")}`];
  const timeout = names.claim("timeout");
  const star = more.length === 0 ? ["*"] : [];
  return {
    signature: [
      ...positional,
      ...more.map((name) => `${name}: Any`),
      ...star,
      timeoutCode(timeout),
    ],
    timeout,
    params: `_positional(${[...list.map(({ argument }) => argument), ...more].join(", ")})`,
  };
}

function timeoutCode(name: string): string {
  return `${name}: Optional[float] = None`;
}
