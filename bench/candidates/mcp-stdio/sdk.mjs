import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { sdkServer } from "../mcp-sdk-add.mjs";

export default async () => {
  await sdkServer().connect(new StdioServerTransport());
  return {};
};
