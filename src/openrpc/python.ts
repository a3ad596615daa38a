import { readDocument } from "./document-reading.ts";
import { linesOf, literalOf, type MethodTree, methodTree } from "./generated-code.ts";
import type { JsonSchema } from "./json-schema.ts";
import { richImports, richValues } from "./python-rich-values.ts";
import { imports, runtime } from "./python-runtime.ts";
import { docstring, PythonTypes, pythonName } from "./python-types.ts";
import { type RichForm, richFormOf } from "./rich-form.ts";
import { isRich } from "./rich-schema.ts";
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
  groupClass("Api", methodTree(read.methods), { types, components }, groups);
  const rich = isRich(read);
  const { title, version } = read.info;
  const url = read.servers
    ?.map((server) => server.url)
    .find((one) => /^https?:\/\/[^\s{}$]+$/.test(one));
  const about = `Made by "callwire generate" from the OpenRPC document of ${linesOf(`${title} ${version}`).join(" ").trim()}; edits are lost.`;
  return [
    `${docstring([about], "").trimEnd()}\n${rich ? richImports : imports}`,
    ...types.declarations(),
    runtime(url === undefined ? "url: str" : `url: str = ${literalOf(url)}`, rich),
    ...(rich ? [richValues] : []),
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

function groupClass(name: string, tree: MethodTree, described: Described, groups: string[]): void {
  const { types } = described;
  const attributes = types.scope();
  const fields: string[] = [];
  const methods: string[] = [];
  for (const [key, entry] of tree) {
    const attribute = attributes.claim(key);
    if (entry instanceof Map) {
      const inner = types.claim(`${name === "Api" ? "" : name}${pascal(key)}Api`);
      fields.push(`        self.${attribute} = ${inner}(client)\n`);
      groupClass(inner, entry, described, groups);
    } else methods.push(methodCode(attribute, entry, described));
  }
  const head = `class ${name}:\n    def __init__(self, client: Client) -> None:\n        self._client = client\n${fields.join("")}`;
  groups.push([head, ...methods].join("\n").trimEnd());
}

function methodCode(attribute: string, method: OpenrpcMethod, described: Described): string {
  const { types, components } = described;
  const place = pascal(method.name) || "Method";
  const stream = method["x-stream"];
  const returned =
    stream === undefined
      ? types.hint(method.result?.schema ?? true, `${place}Result`)
      : `Iterator[${types.hint(stream.item, `${place}Item`)}]`;
  const { signature, params } = paramsCode(method, place, types);
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
  const call = `self._client.${verb}(${literalOf(method.name)}, ${given})`;
  // A typed variable tells type checkers the type of the result.
  const body =
    stream !== undefined || returned === "Any"
      ? `        return ${call}\n`
      : `        _reply: ${returned} = ${call}\n        return _reply\n`;
  return `    def ${attribute}(${["self", ...signature].join(", ")}) -> ${returned}:\n${about}${body}`;
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
): { readonly signature: readonly string[]; readonly params: string } {
  const whole = method["x-params"];
  const isByPosition = method.paramStructure === "by-position";
  if (whole !== undefined && !isByPosition) {
    const hint = types.hint(whole, `${place}Params`);
    return { signature: [`params: ${hint} = _OMITTED`], params: "params" };
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
    return {
      signature,
      params: members.length === 0 ? "_OMITTED" : `_named({${members.join(", ")}})`,
    };
  }
  const lastRequired = list.findLastIndex(({ required }) => required);
  const positional = list.map(({ argument, hint }, i) =>
    i <= lastRequired ? `${argument}: ${hint}` : `${argument}: ${hint} = _OMITTED`,
  );
  const more = whole === undefined ? [] : [`*${names.claim("more")}`];
  return {
    signature: [...positional, ...more.map((name) => `${name}: Any`)],
    params: `_positional(${[...list.map(({ argument }) => argument), ...more].join(", ")})`,
  };
}
