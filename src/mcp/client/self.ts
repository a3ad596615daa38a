import type { ClientCapabilities, Implementation, LogLevel } from "../capabilities.ts";
import { MetaKey, tasksExtension } from "../meta-keys.ts";
import type { ModernRevision } from "../revisions.ts";
import type { Input } from "./input.ts";

/** What a client says of itself. */
export class Self {
  readonly info: Implementation;
  readonly #capabilities: ClientCapabilities;
  readonly #tasks: object | undefined;
  /** From which level on log messages are wanted; without one there are none in the modern era. */
  logLevel: LogLevel | undefined;

  constructor(
    info: Implementation,
    { capabilities, taskCapability }: Pick<Input, "capabilities" | "taskCapability">,
    logLevel: LogLevel | undefined,
  ) {
    this.info = info;
    this.#capabilities = capabilities;
    this.#tasks = taskCapability;
    this.logLevel = logLevel;
  }

  /** What `initialize` says. */
  get legacyCapabilities(): ClientCapabilities {
    const { roots, ...others } = this.#capabilities;
    return {
      ...others,
      ...(roots !== undefined && { roots: { ...roots, listChanged: true } }),
      ...(this.#tasks !== undefined && { tasks: this.#tasks }),
    };
  }

  /** What each request of the modern era carries in its `_meta`. */
  envelope(revision: ModernRevision): Record<string, unknown> {
    const { extensions } = this.#capabilities;
    return {
      [MetaKey.ProtocolVersion]: revision,
      [MetaKey.ClientInfo]: this.info,
      [MetaKey.ClientCapabilities]: {
        ...this.#capabilities,
        extensions: { ...extensions, [tasksExtension]: {} },
      },
      ...(this.logLevel !== undefined && { [MetaKey.LogLevel]: this.logLevel }),
    };
  }
}
