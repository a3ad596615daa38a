import type { Context } from "../../protocol/context.ts";
import type { Reply } from "../../protocol/message.ts";
import type { ResourceContents } from "../content.ts";
import { errorOf, invalidArguments, McpError, McpErrorCode } from "../errors.ts";
import type { Meta } from "../meta-keys.ts";
import { isRecord } from "../record.ts";
import { type Catalog, methodOf } from "./catalog.ts";
import { FeatureCall } from "./feature-call.ts";
import type { Rounds } from "./handler-rounds.ts";
import type { Caller, Operation } from "./operation.ts";
import { type PromptOutput, promptResult } from "./prompt.ts";
import type { Complete, Resource, ResourceOutput } from "./resource.ts";

/** Most suggestions that one completion may hold. */
const mostSuggestions = 100;

/** The operations that use resources and prompts; tools have a file of their own. */
export function features(catalog: Catalog, rounds: Rounds): [string, Operation][] {
  const read: Operation = (params, context, caller) => {
    const { uri } = params;
    if (typeof uri !== "string") throw invalidArguments("uri is a text");
    const found = findResource(catalog, uri, context);
    if (found === undefined) throw resourceNotFound(uri, caller);
    const { resource, variables } = found;
    return rounds.run(
      {
        method: methodOf(resource),
        params: { uri, variables },
        dispatch: catalog.dispatch,
        finish: (reply) => {
          const output = resultOf(reply) as ResourceOutput | undefined;
          if (output === undefined) throw resourceNotFound(uri, caller);
          return { contents: contentsOf(output, uri, resource) };
        },
      },
      params,
      context,
      caller,
    );
  };

  const get: Operation = (params, context, caller) => {
    const { name, arguments: args = {} } = params;
    const prompt = typeof name === "string" ? catalog.prompts.get(name) : undefined;
    if (prompt === undefined) throw invalidArguments(`there is no prompt ${shown(name)}`);
    if (!isRecord(args)) throw invalidArguments("arguments is an object");
    return rounds.run(
      {
        method: prompt.method,
        params: args,
        dispatch: catalog.dispatch,
        finish: (reply) =>
          promptResult(resultOf(reply) as PromptOutput, prompt.description.description),
      },
      params,
      context,
      caller,
    );
  };

  const complete: Operation = async (params, context, caller) => {
    const { ref, argument, context: given } = params;
    if (!isRecord(ref) || !isRecord(argument))
      throw invalidArguments("ref and argument are needed");
    const { name, value } = argument;
    if (typeof name !== "string" || typeof value !== "string") {
      throw invalidArguments("argument has a name and a value");
    }
    const completers = completersOf(catalog, ref, context);
    if (completers === undefined) throw invalidArguments("ref names nothing that is here");
    const suggest = Object.hasOwn(completers, name) ? completers[name] : undefined;
    const chosen = isRecord(given) && isRecord(given.arguments) ? given.arguments : {};
    const call = new FeatureCall(context, "completion/complete", caller, params._meta as Meta);
    const all = (await suggest?.(value, chosen as Record<string, string>, call)) ?? [];
    const values = all.slice(0, mostSuggestions);
    return { completion: { values, total: all.length, hasMore: values.length < all.length } };
  };

  return [
    ["resources/read", read],
    ["prompts/get", get],
    ["completion/complete", complete],
  ];
}

/** A name that a client sent, for an error; it may be long or no name at all. */
export function shown(name: unknown): string {
  return typeof name === "string" ? JSON.stringify(name.slice(0, 64)) : "without a name";
}

/** The result of a reply, or its error thrown. */
export function resultOf({ result, error }: Reply): unknown {
  if (error === undefined) return result;
  throw errorOf(error);
}

interface Found {
  readonly resource: Resource;
  readonly variables: Readonly<Record<string, string>>;
}

export function findResource(catalog: Catalog, uri: string, context: Context): Found | undefined {
  const exact = catalog.resources.get(uri);
  if (exact?.visible(context)) return { resource: exact, variables: {} };
  for (const resource of catalog.templates.values()) {
    const variables = resource.template?.match(uri);
    if (variables !== undefined && resource.visible(context)) return { resource, variables };
  }
  return undefined;
}

/** The modern era has no code of its own for it. */
export function resourceNotFound(uri: string, caller: Caller): McpError {
  const code = caller.session === undefined ? -32602 : McpErrorCode.ResourceNotFound;
  return new McpError(code, "Resource not found", { uri });
}

function contentsOf(
  output: ResourceOutput,
  uri: string,
  { definition: { mimeType } }: Resource,
): readonly ResourceContents[] {
  const type = mimeType === undefined ? {} : { mimeType };
  if (typeof output === "string") return [{ uri, ...type, text: output }];
  if (output instanceof Uint8Array) return [{ uri, ...type, blob: base64(output) }];
  return output;
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** What a caller may not know of is completed as little as what is not there. */
function completersOf(
  { prompts, resources, templates }: Catalog,
  { type, name, uri }: Readonly<Record<string, unknown>>,
  context: Context,
): { readonly [name: string]: Complete | undefined } | undefined {
  if (type === "ref/prompt") {
    const prompt = prompts.get(String(name));
    return prompt?.visible(context) ? prompt.complete : undefined;
  }
  if (type !== "ref/resource") return undefined;
  const found = templates.get(String(uri)) ?? resources.get(String(uri));
  if (!found?.visible(context)) return undefined;
  return ("complete" in found.definition ? found.definition.complete : undefined) ?? {};
}
