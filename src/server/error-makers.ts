import type { ErrorDefinitions } from "../protocol/contract.ts";
import { RpcError } from "../protocol/errors.ts";
import { issuesTold } from "./validate.ts";

/** Made once per method: `errors.NAME(data)` gives an error to throw, its data checked. */
export function errorMakers(
  definitions: ErrorDefinitions = {},
): Record<string, (data?: unknown) => RpcError> {
  const makers: Record<string, (data?: unknown) => RpcError> = Object.create(null);
  for (const [name, definition] of Object.entries(definitions)) {
    const message = definition.message ?? sentence(name);
    makers[name] = (data) => {
      const checked = definition.data?.["~standard"].validate(data) ?? { value: data };
      if (checked instanceof Promise) {
        throw new TypeError(`the data of ${name} needs a schema that validates synchronously`);
      }
      if (checked.issues !== undefined) {
        throw new TypeError(`the data of ${name} is not what it declares`, {
          cause: issuesTold(checked.issues),
        });
      }
      return new RpcError(definition.code, message, checked.value);
    };
  }
  return makers;
}

/** PROMPT_TOO_LONG reads "Prompt too long". */
function sentence(name: string): string {
  const words = name.replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
