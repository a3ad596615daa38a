import { effect } from "@preact/signals";
import type { ParamsValue } from "../schema/params.ts";
import * as draft from "./draft.ts";
import { selectedName } from "./methods.ts";
import { transport, version, wires } from "./settings.ts";
import { withoutSecrets } from "./storage.ts";

/** Links longer than this break in some programs. */
const longestLink = 8_000;

/** A link to the current call; following it calls nothing. */
export function linkToCall(): string {
  const query = new URLSearchParams();
  if (selectedName.value !== undefined) query.set("method", selectedName.value);
  const { value } = draft;
  query.set("params", value.value === undefined ? "" : JSON.stringify(withoutSecrets(value.value)));
  if (transport.value !== "http") query.set("wire", transport.value);
  if (version.value !== "2.0") query.set("version", version.value);
  const url = new URL(location.href);
  url.hash = query.toString().replaceAll("%2F", "/");
  if (url.href.length > longestLink) {
    query.delete("params");
    url.hash = query.toString();
  }
  return url.href;
}

/** Restores the call in the address of the page; false if there is none. */
export function followLink(): boolean {
  const query = new URLSearchParams(location.hash.slice(1));
  const method = query.get("method");
  const wire = wires.value.find((name) => name === query.get("wire"));
  if (wire !== undefined) transport.value = wire;
  if (query.get("version") === "1.0") version.value = "1.0";
  if (method === null || method === "") return false;
  draft.choose(method, paramsIn(query.get("params")));
  return true;
}

/** Undefined if the link has no valid params; then an example is used. */
function paramsIn(text: string | null): { value: ParamsValue } | undefined {
  if (text === "") return { value: undefined };
  try {
    const value: unknown = JSON.parse(text ?? "");
    // Params that are nested too deep for `JSON.stringify` would stop the page.
    JSON.stringify(withoutSecrets(value));
    return typeof value === "object" && value !== null
      ? { value: value as ParamsValue }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Updates the address of the page, so that a reload shows the same call. */
export function keepLink(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const link = linkToCall();
    clearTimeout(timer);
    timer = setTimeout(() => history.replaceState(null, "", link), 200);
  });
  addEventListener("hashchange", () => followLink());
}
