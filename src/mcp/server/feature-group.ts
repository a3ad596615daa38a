import type { TaskSupport, ToolDescription } from "../results.ts";
import type { ListKind } from "./changes.ts";
import type { FeatureCall } from "./feature-call.ts";
import type { Prompt } from "./prompt.ts";
import type { Resource } from "./resource.ts";

/** A tool that another server has; its result is passed on as it is. */
export interface GroupTool {
  readonly description: ToolDescription;
  /** The name under which middleware sees it. */
  readonly method: string;
  readonly taskSupport: TaskSupport;
  run(args: Readonly<Record<string, unknown>> | undefined, call: FeatureCall): Promise<object>;
}

/** What one server behind a gateway has. */
export interface FeatureGroup {
  readonly tools: readonly GroupTool[];
  readonly prompts: readonly (readonly [name: string, prompt: Prompt])[];
  readonly resources: readonly Resource[];
  /** Resources that are not listed. */
  readonly unlisted: UnlistedResources | undefined;
}

export interface UnlistedResources {
  /** Reads them all. */
  readonly resource: Resource;
  has(uri: string): boolean;
}

/** The lists of a group as clients see them, to find what changed. */
export function described({ tools, prompts, resources }: FeatureGroup): Record<ListKind, string> {
  return {
    tools: JSON.stringify(tools.map(({ description }) => description)),
    prompts: JSON.stringify(prompts.map(([name, { definition }]) => [name, definition])),
    resources: JSON.stringify(resources.map(({ definition }) => definition)),
  };
}
