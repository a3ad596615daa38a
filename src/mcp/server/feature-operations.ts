import { base64 } from "../../protocol/base64.ts";
import type { Context } from "../../protocol/context.ts";
import { membersOf } from "../../protocol/envelope.ts";
import type { Reply } from "../../protocol/message.ts";
import { isRecord } from "../../protocol/record.ts";
import type { ResourceContents } from "../content.ts";
import { errorOf, invalidArguments, McpError, McpErrorCode } from "../errors.ts";
import type { Meta } from "../meta-keys.ts";
import { type Catalog, methodOf } from "./catalog.ts";
import { FeatureCall } from "./feature-call.ts";
import type { HandlerRounds } from "./handler-rounds.ts";
import type { Caller, Operation } from "./operation.ts";
import { type PromptOutput, promptResult } from "./prompt.ts";
import type { Complete, Resource, ResourceOutput } from "./resource.ts";

/** Most suggestions in one completion. */
const mostSuggestions = 100;

/** The operations on resources and prompts. */
export function features(catalog: Catalog, rounds: HandlerRounds): [string, Operation][] {
  const read: Operation = (params, context, caller) => {
    const { uri } = params;
    if (typeof uri !== "string") throw invalidArguments('"uri" must be a string');
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
    if (!isRecord(args)) throw invalidArguments('"arguments" must be an object');
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
      throw invalidArguments('"ref" and "argument" must be objects');
    const { name, value } = argument;
    if (typeof name !== "string" || typeof value !== "string") {
      throw invalidArguments('"argument" must have a name and a value');
    }
    const completers = completersOf(catalog, ref, context);
    if (completers === undefined)
      throw invalidArguments('"ref" does not name a known prompt or resource');
    const suggest = Object.hasOwn(completers, name) ? completers[name] : undefined;
    const chosen = membersOf(membersOf(given).arguments);
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

/** A name from a client for an error message; it may be long, or not a string. */
export function shown(name: unknown): string {
  return typeof name === "string" ? JSON.stringify(name.slice(0, 64)) : "without a name";
}

/** The result of a reply; throws its error. */
function resultOf({ result, error }: Reply): unknown {
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
  const unlisted = catalog.unlisted(uri, context);
  return unlisted && { resource: unlisted, variables: {} };
}

/** The modern era has no separate code for this error. */
export function resourceNotFound(uri: string, caller: Caller): McpError {
  const code = caller.session === undefined ? -32602 : McpErrorCode.ResourceNotFound;
  return new McpError(code, "Resource not found", { uri });
}

function contentsOf(
  output: ResourceOutput,
  uri: string,
  { definition: { mimeType, _meta } }: Resource,
): readonly ResourceContents[] {
  const described = {
    ...(mimeType !== undefined && { mimeType }),
    ...(_meta !== undefined && { _meta }),
  };
  if (typeof output === "string") return [{ uri, ...described, text: output }];
  if (output instanceof Uint8Array) return [{ uri, ...described, blob: base64(output) }];
  return output;
}

/** Undefined for what does not exist or is hidden from the caller. */
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
