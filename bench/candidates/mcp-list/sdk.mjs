import { serveSdk } from "../mcp-http/sdk.mjs";
import { listing, toolNames } from "../mcp-request.mjs";

export default async () => listing(await serveSdk(toolNames), "/mcp");
