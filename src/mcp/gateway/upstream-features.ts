import type { Log } from "../../protocol/log.ts";
import { type Listed, listing } from "../client/listing.ts";
import type { ProtocolClient } from "../client/protocol-client.ts";
import { requestInRounds } from "../client/request-rounds.ts";
import { completed, promptEntry, resourceEntry, templateEntry } from "../client/result-shapes.ts";
import { type Meta, MetaKey, tasksExtension } from "../meta-keys.ts";
import type {
  CompletionResult,
  PromptDescription,
  PromptMessage,
  PromptResult,
  ReadResult,
  ResourceDescription,
  ResourceTemplateDescription,
  ToolDescription,
  ToolResult,
} from "../results.ts";
import type { FeatureCall } from "../server/feature-call.ts";
import type { FeatureGroup, GroupTool } from "../server/feature-group.ts";
import { type Prompt, prompt } from "../server/prompt.ts";
import type { Complete, Resource } from "../server/resource.ts";
import { uriTemplate } from "../server/uri-template.ts";
import type { Upstream } from "./upstream.ts";
import type { Forward, UpstreamClient } from "./upstream-client.ts";

export const noFeatures: FeatureGroup = {
  tools: [],
  prompts: [],
  resources: [],
  unlisted: undefined,
};

const lists = {
  prompts: { method: "prompts/list", member: "prompts", entry: promptEntry, capability: "prompts" },
  resources: {
    method: "resources/list",
    member: "resources",
    entry: resourceEntry,
    capability: "resources",
  },
  templates: {
    method: "resources/templates/list",
    member: "resourceTemplates",
    entry: templateEntry,
    capability: "resources",
  },
} as const satisfies Record<string, Listed>;

/** Everything that a server offers, in the form in which the gateway offers it. */
export async function featuresOf(
  upstream: Upstream,
  client: UpstreamClient,
  log: Log,
): Promise<FeatureGroup> {
  const { protocol } = client;
  await protocol.connect();
  const [tools, prompts, resources, templates] = await Promise.all([
    client.tools.list().all(),
    listing<PromptDescription>(protocol, lists.prompts, undefined).all(),
    listing<ResourceDescription>(protocol, lists.resources, undefined).all(),
    // Many servers have resources, but no such method.
    listing<ResourceTemplateDescription>(protocol, lists.templates, undefined)
      .all()
      .catch(() => []),
  ]);
  const usable = <T, R>(all: readonly T[], convert: (each: T) => R): R[] =>
    all.flatMap((each) => {
      try {
        return [convert(each)];
      } catch (error) {
        log.warn({ err: error, server: upstream.name }, "ignored an entry of an MCP server");
        return [];
      }
    });
  const reader = readerOf(upstream);
  return {
    tools: usable(tools, (each) => toolOf(upstream, each)),
    prompts: usable(prompts, (each) => promptOf(upstream, each)),
    resources: [
      ...usable(resources, (each) => resourceOf(upstream, each, reader)),
      ...usable(templates, (each) => templateOf(upstream, each, reader)),
    ],
    unlisted: protocol.server?.capabilities.resources && unlistedOf(upstream, reader),
  };
}

function toolOf(upstream: Upstream, tool: ToolDescription): GroupTool {
  const { prefix } = upstream;
  const { name, execution, _meta } = tool;
  const taskSupport = execution?.taskSupport ?? "forbidden";
  const forward =
    (args: Readonly<Record<string, unknown>>): Forward =>
    async (client, relayed, input) => {
      const { call } = relayed;
      const onProgress =
        call?.meta?.progressToken === undefined
          ? undefined
          : (value: unknown) => relayed.call?.progress(value);
      const meta = metaFor(call, client.protocol);
      const options = { ...client.lasting(relayed), onProgress, meta };
      const result = await client.tools.call(name, args, options, input);
      return { ...result, content: prefix.contents(result.content) } satisfies ToolResult;
    };
  return {
    description: {
      ...tool,
      name: prefix.name(name),
      // The gateway itself waits for a task that the client does not want.
      ...(taskSupport === "required" && { execution: { ...execution, taskSupport: "optional" } }),
      ...(_meta !== undefined && { _meta: prefix.meta(_meta) }),
    },
    method: `${upstream.name}/${name}`,
    taskSupport: taskSupport === "required" ? "optional" : taskSupport,
    run: (args = {}, call) => upstream.forward(call, forward(args)),
  };
}

/** The `_meta` of a request as the client sent it, with what a modern server needs to know about that client. */
function metaFor(call: FeatureCall | undefined, { server }: ProtocolClient): Meta | undefined {
  if (call === undefined) return undefined;
  const own = call.meta && ownMeta(call.meta);
  if (server?.era !== "modern") return own;
  const { capabilities, logLevel } = call.caller;
  return {
    ...own,
    [MetaKey.ClientCapabilities]: {
      ...capabilities,
      extensions: { ...capabilities.extensions, [tasksExtension]: {} },
    },
    ...(logLevel !== undefined && { [MetaKey.LogLevel]: logLevel }),
  };
}

/** What of it is not about the connection to this gateway. */
function ownMeta({ progressToken, ...sent }: Meta): Meta | undefined {
  const own = Object.entries(sent).filter(([key]) => !key.startsWith("io.modelcontextprotocol/"));
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** A request that is sent on as it is. */
function request(method: string, params: Readonly<Record<string, unknown>>): Forward {
  return async (client, relayed, input) => {
    const { protocol } = client;
    const _meta = metaFor(relayed.call, protocol);
    const all = _meta === undefined ? params : { ...params, _meta };
    return completed(await requestInRounds(protocol, method, all, client.lasting(relayed), input));
  };
}

function promptOf(upstream: Upstream, description: PromptDescription): [string, Prompt] {
  const { prefix } = upstream;
  const { name, arguments: args = [], ...rest } = description;
  const ref = { type: "ref/prompt", name };
  const names = args.map((each) => each.name);
  const definition = { ...rest, arguments: args, complete: completers(upstream, ref, names) };
  const get = async (given: object, call: unknown): Promise<PromptResult> => {
    const forward = request("prompts/get", { name, arguments: given });
    const result = (await upstream.forward(call as FeatureCall, forward)) as PromptResult;
    const messages = result.messages.map(
      (each): PromptMessage => ({ ...each, content: prefix.content(each.content) }),
    );
    return { ...result, messages };
  };
  return [prefix.name(name), prompt(definition, get)];
}

type Reader = (uri: string, call: unknown) => Promise<ReadResult["contents"]>;

function readerOf(upstream: Upstream): Reader {
  const { prefix } = upstream;
  return async (uri, call) => {
    const forward = request("resources/read", { uri: prefix.ownUri(uri) });
    const { contents } = (await upstream.forward(call as FeatureCall, forward)) as ReadResult;
    return contents.map((each) => ({ ...each, uri: prefix.uri(each.uri) }));
  };
}

function resourceOf(upstream: Upstream, each: ResourceDescription, read: Reader): Resource {
  const uri = upstream.prefix.uri(each.uri);
  const definition = { ...each, uri, read };
  return { definition, name: each.name, template: undefined, method: `resources/${uri}` };
}

function templateOf(upstream: Upstream, each: ResourceTemplateDescription, read: Reader): Resource {
  const template = uriTemplate(upstream.prefix.uri(each.uriTemplate));
  const ref = { type: "ref/resource", uri: each.uriTemplate };
  const definition = {
    ...each,
    uriTemplate: upstream.prefix.uri(each.uriTemplate),
    complete: completers(upstream, ref, template.names),
    read: (_: unknown, uri: string, call: unknown) => read(uri, call),
  };
  const method = `resources/${definition.uriTemplate}`;
  return { definition, name: each.name, template, method };
}

/** Resources that a server has without listing them, such as those that the results of its tools name. */
function unlistedOf(upstream: Upstream, read: Reader): FeatureGroup["unlisted"] {
  const { prefix, name } = upstream;
  if (prefix.scheme === "") return undefined;
  const definition = { uri: "", read };
  const resource = { definition, name, template: undefined, method: `resources/${name}` };
  return { resource, has: (uri) => prefix.uri(prefix.ownUri(uri)) === uri };
}

function completers(
  upstream: Upstream,
  ref: object,
  names: readonly string[],
): Readonly<Record<string, Complete>> {
  const completer =
    (name: string): Complete =>
    async (value, chosen, call) => {
      const context = Object.keys(chosen).length === 0 ? {} : { context: { arguments: chosen } };
      const forward = request("completion/complete", {
        ref,
        argument: { name, value },
        ...context,
      });
      const result = await upstream.forward(call as unknown as FeatureCall, forward);
      return (result as CompletionResult).completion.values;
    };
  return Object.fromEntries(names.map((name) => [name, completer(name)]));
}
