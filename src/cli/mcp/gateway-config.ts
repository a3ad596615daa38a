import { type McpServer, type McpUpstream, mcpGateway } from "callwire/mcp";
import { mcpHttpLink, mcpStdioLink } from "callwire/mcp/client";
import { z } from "zod";
import { version } from "../command.ts";
import { Failure } from "../failure.ts";
import { fileText } from "../files.ts";
import { logIn, warningsOf } from "../log-format.ts";

const text = z.string().min(1);
const texts = z.record(text, z.string());

/** The form of agent hosts, so that their files work as they are; members that only they know are ignored. */
const server = z
  .object({
    command: text.optional(),
    args: z.array(z.string()).optional(),
    env: texts.optional(),
    cwd: text.optional(),
    url: z.url({ protocol: /^https?$/ }).optional(),
    headers: texts.optional(),
    disabled: z.boolean().optional(),
    per: z.enum(["gateway", "session"]).optional(),
    maxConnections: z.int().positive().optional(),
    prefix: z.string().optional(),
  })
  .refine(({ command, url }) => (command === undefined) !== (url === undefined), {
    message: 'needs either "command" or "url"',
  });

const servers = z.record(text, server);
const config = z
  .object({ mcpServers: servers.optional(), servers: servers.optional() })
  .refine((file) => file.mcpServers !== undefined || file.servers !== undefined, {
    message: 'needs "mcpServers": { "name": { "command": … } or { "url": … } }',
  });

/** The gateway that a config file describes, and how many servers are behind it. */
export async function gatewayFrom(
  path: string,
): Promise<{ readonly agents: McpServer; readonly count: number }> {
  const parsed = config.safeParse(jsonIn(await fileText(path), path));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where =
      issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.join(".")}`;
    throw new Failure(`${path}${where}: ${issue?.message ?? "is not valid"}`);
  }
  const { mcpServers, servers: named } = parsed.data;
  const enabled = Object.entries(mcpServers ?? named ?? {}).filter(([, each]) => !each.disabled);
  const upstreams = enabled.map(([name, each]) => [name, upstreamOf(each, `${path} at ${name}`)]);
  try {
    const info = { name: "callwire-gateway", version, log: warningsOf(logIn()) };
    return { agents: mcpGateway(Object.fromEntries(upstreams), info), count: upstreams.length };
  } catch (error) {
    throw error instanceof TypeError ? new Failure(`${path}: ${error.message}`) : error;
  }
}

function upstreamOf(entry: z.infer<typeof server>, where: string): McpUpstream {
  const { command, args = [], env = {}, cwd, url, headers = {}, ...rest } = entry;
  const { per, maxConnections, prefix } = rest;
  const link =
    url === undefined
      ? mcpStdioLink(command as string, args, {
          env: { ...process.env, ...filled(env, where) },
          ...(cwd !== undefined && { cwd }),
        })
      : mcpHttpLink(url, { headers: filled(headers, where) });
  return {
    link,
    ...(per !== undefined && { per }),
    ...(maxConnections !== undefined && { maxConnections }),
    ...(prefix !== undefined && { prefix }),
  };
}

/** Replaces `${NAME}` by the environment variable, so that the file needs no secrets. */
function filled(values: Readonly<Record<string, string>>, where: string): Record<string, string> {
  const replaced = Object.entries(values).map(([key, value]) => [
    key,
    value.replaceAll(/\$\{(?:env:)?(\w+)\}/g, (_, name: string) => {
      const found = process.env[name];
      if (found === undefined) throw new Failure(`${where}: the variable ${name} is not set`);
      return found;
    }),
  ]);
  return Object.fromEntries(replaced);
}

function jsonIn(content: string, path: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new Failure(`${path} is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
}
