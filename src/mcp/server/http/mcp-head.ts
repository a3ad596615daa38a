import type { IncomingMessage } from "node:http";

/** The headers that MCP looks at, read once from their raw form. */
export class McpHead {
  accept: string | undefined = undefined;
  contentType: string | undefined = undefined;
  authorization: string | undefined = undefined;
  origin: string | undefined = undefined;
  sessionId: string | undefined = undefined;
  protocolVersion: string | undefined = undefined;
  mcpMethod: string | undefined = undefined;
  mcpName: string | undefined = undefined;
  lastEventId: string | undefined = undefined;

  constructor({ rawHeaders: raw }: IncomingMessage) {
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i] as string;
      // Most names are told apart by their length.
      switch (name.length) {
        case 6:
          this.#read(name, "accept", "accept", raw[i + 1]);
          this.#read(name, "origin", "origin", raw[i + 1]);
          break;
        case 8:
          this.#read(name, "mcp-name", "mcpName", raw[i + 1]);
          break;
        case 10:
          this.#read(name, "mcp-method", "mcpMethod", raw[i + 1]);
          break;
        case 12:
          this.#read(name, "content-type", "contentType", raw[i + 1]);
          break;
        case 13:
          this.#read(name, "authorization", "authorization", raw[i + 1]);
          this.#read(name, "last-event-id", "lastEventId", raw[i + 1]);
          break;
        case 14:
          this.#read(name, "mcp-session-id", "sessionId", raw[i + 1]);
          break;
        case 20:
          this.#read(name, "mcp-protocol-version", "protocolVersion", raw[i + 1]);
      }
    }
  }

  /** A header that stands twice holds both, and so equals neither. */
  #read(
    name: string,
    wanted: string,
    field: Exclude<keyof McpHead, "#read">,
    value: string | undefined,
  ): void {
    if (name !== wanted && name.toLowerCase() !== wanted) return;
    const before = this[field];
    this[field] = before === undefined ? value : `${before}, ${value}`;
  }
}
