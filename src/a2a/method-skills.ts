import { Client } from "../client/client.ts";
import { namedArguments, positional } from "../openrpc/named-arguments.ts";
import type { ParameterNames } from "../openrpc/parameter-names.ts";
import { directLink } from "../protocol/direct-link.ts";
import { RemoteError, RpcError } from "../protocol/errors.ts";
import type { Params } from "../protocol/message.ts";
import { isRecord } from "../protocol/record.ts";
import type { Server } from "../server/server.ts";
import type { AgentSkill } from "./card.ts";
import type { Execute } from "./executor.ts";
import type { Message } from "./model.ts";
import { exampleParams } from "./skill-example.ts";

/** The methods of a server as skills, named by their full names. */
export function skillsOf({ methods }: Server): AgentSkill[] {
  return Array.from(methods, ([id, method]) => {
    const { summary, description, tags = [] } = method.definition;
    const params = exampleParams(method);
    return {
      id,
      name: summary ?? id,
      description: description ?? summary ?? `Calls the method ${id}`,
      tags: tags.length > 0 ? tags : [id.split("/")[0] ?? id],
      inputModes: ["application/json"],
      outputModes: ["application/json"],
      ...(params !== undefined && { examples: [JSON.stringify({ skill: id, params })] }),
    };
  });
}

/** Calls the method that a message names, as the caller of the message. */
export function methodsExecutor(server: Server): Execute {
  return async function* (message, { principal, signal }) {
    const { skill, params: given } = callIn(message, [...server.methods.keys()]);
    const params = paramsFor(skill, server.methods.get(skill)?.parameters, given);
    const client = new Client(directLink(server, principal === undefined ? {} : { principal }));
    yield { state: "working" };
    try {
      if (server.isStream(skill)) {
        for await (const item of client.stream(skill, params, { signal })) yield { data: item };
      } else yield { data: (await client.call(skill, params, { signal })) ?? null };
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      const { code, message: text, data } = error;
      const content = { data: { code, message: text, ...(data !== undefined && { data }) } };
      yield { state: "failed", message: [{ text }, content] };
    }
  };
}

/** Names the arguments of a plain function, and checks them, because the function takes any. */
function paramsFor(
  skill: string,
  parameters: ParameterNames | undefined,
  params: Params | undefined,
): Params | undefined {
  if (parameters === undefined) return params;
  const { schema, paramsOf, faultOf } = namedArguments(parameters);
  const args = Array.isArray(params) ? byName(parameters, params) : (params ?? {});
  const fault = isRecord(args) ? faultOf?.(args) : "the arguments must be an object";
  if (fault === undefined) return paramsOf(args as Readonly<Record<string, unknown>>);
  const members = (schema.required ?? []).map((name) => `${JSON.stringify(name)}: …`).join(", ");
  throw new RpcError(
    -32602,
    `${fault}; send { "skill": ${JSON.stringify(skill)}, "params": { ${members} } } in a data part`,
  );
}

function byName(parameters: ParameterNames, params: readonly unknown[]): unknown {
  if (parameters.form === "unknown") return { [positional]: params };
  if (parameters.form === "object") return params[0] ?? {};
  const { names } = parameters;
  return Object.fromEntries(params.map((value, i) => [names[i] ?? `at position ${i}`, value]));
}

interface SkillCall {
  readonly skill: string;
  readonly params: Params | undefined;
}

/** The skill and its params: both in a data part, or the skill in the metadata and the params in a data part. */
export function callIn(message: Message, names: readonly string[]): SkillCall {
  const data = message.parts.find((part) => part.data !== undefined)?.data;
  const named = message.metadata?.skill;
  const only = names.length === 1 ? names[0] : undefined;
  const whole = (data ?? {}) as { readonly skill?: unknown; readonly params?: unknown };
  const [skill, params] =
    typeof whole.skill === "string" ? [whole.skill, whole.params] : [named ?? only, data];
  if (typeof skill !== "string" || !names.includes(skill))
    throw new RpcError(
      -32602,
      `a message must name one of the skills ${names.join(", ")}, in a data part: { "skill": "…", "params": { … } }`,
    );
  return { skill, params: params as Params | undefined };
}
