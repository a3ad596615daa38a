/** The MCP clients of agent libraries, and the official inspector, against our server. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { everything } from "../../../examples/mcp-everything/everything.ts";
import { build } from "../../cli/process.ts";
import { root } from "../../entries.ts";
import { describeWith } from "../../services.ts";
import { serveEverything, stdioCommand } from "./everything.ts";

const run = promisify(execFile);
const greeting = "Hello, Ada!";

describeWith(["mcp peers"], "our server", () => {
  let served: Awaited<ReturnType<typeof serveEverything>>;
  let url: string;

  beforeAll(async () => {
    [served] = await Promise.all([serveEverything(everything), build()]);
    url = served.url.href;
  }, 60_000);

  afterAll(() => served.http.close());

  test("the inspector lists tools over HTTP, and calls one over stdio", async () => {
    // It looks for its own version in the parent folder of the current one.
    const cwd = `${root}test/mcp/peers/node_modules/@modelcontextprotocol/inspector-cli/build`;
    const inspect = async (...told: string[]): Promise<unknown> => {
      const { stdout } = await run(process.execPath, ["index.js", ...told], { cwd });
      return JSON.parse(stdout);
    };
    const { command, args } = stdioCommand;
    const greet = ["tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada"];
    const [listed, called] = await Promise.all([
      inspect(url, "--transport", "http", "--method", "tools/list"),
      inspect(command, ...args, "--method", ...greet),
    ]);
    expect(listed).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: "greet" })]),
    });
    expect(called).toMatchObject({ content: [{ type: "text", text: greeting }] });
  }, 30_000);

  test("@ai-sdk/mcp calls tools, reads resources, gets prompts and answers questions", async () => {
    const { createMCPClient, ElicitationRequestSchema } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({
      transport: { type: "http", url },
      capabilities: { elicitation: {} },
    });
    client.onElicitationRequest(ElicitationRequestSchema, () => ({
      action: "accept",
      content: { username: "ada", email: "ada@example.com" },
    }));
    const tools = await client.tools();
    const options = { toolCallId: "1", messages: [] };
    expect(await tools.greet?.execute({ name: "Ada" }, options)).toMatchObject({
      content: [{ type: "text", text: greeting }],
    });
    expect(await tools.test_error_handling?.execute({}, options)).toMatchObject({ isError: true });
    expect(await tools.test_elicitation?.execute({ message: "Who?" }, options)).toMatchObject({
      content: [{ text: expect.stringContaining("ada@example.com") }],
    });
    expect(await client.readResource({ uri: "test://static-text" })).toMatchObject({
      contents: [{ text: "This is the content of the static text resource." }],
    });
    const args = { arg1: "one", arg2: "two" };
    expect(
      await client.experimental_getPrompt({ name: "test_prompt_with_arguments", arguments: args }),
    ).toMatchObject({ messages: [{ content: { text: expect.stringContaining("two") } }] });
    await client.close();
  });

  test("@langchain/mcp-adapters makes tools of ours, and gets their errors", async () => {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({
      mcpServers: {
        remote: { transport: "http", url },
        local: { transport: "stdio", ...stdioCommand },
      },
      prefixToolNameWithServerName: true,
    });
    const tools = new Map((await client.getTools()).map((each) => [each.name, each]));
    for (const server of ["remote", "local"]) {
      const named = (name: string) => tools.get(`${server}__${name}`);
      expect(await named("greet")?.invoke({ name: "Ada" })).toBe(greeting);
      await expect(named("test_error_handling")?.invoke({})).rejects.toThrow("intentionally");
    }
    await client.close();
  }, 30_000);

  test("@openai/agents calls our tools, and takes them in its strict mode", async () => {
    const { getAllMcpTools, MCPServerStreamableHttp } = await import("@openai/agents");
    const server = new MCPServerStreamableHttp({ url, name: "callwire" });
    await server.connect();
    expect(await server.callTool("greet", { name: "Ada" })).toEqual([
      { type: "text", text: greeting },
    ]);
    const listed = await server.listTools();
    const tools = await getAllMcpTools({
      mcpServers: [server],
      convertSchemasToStrict: true,
    } as never);
    const loose = tools.filter((each) => each.type === "function" && !each.strict);
    expect(tools).toHaveLength(listed.length);
    // Its strict mode has no conditions.
    expect(loose.map((each) => each.name)).toEqual(["json_schema_2020_12_tool"]);
    await server.close();
  });
});
