import { batch, computed, signal } from "@preact/signals";
import type { OpenrpcMethod } from "callwire/openrpc";
import {
  converted,
  firstParams,
  formOf,
  formsOf,
  type ParamsForm,
  type ParamsValue,
  paramsSchema,
} from "../schema/params.ts";
import { type Path, withValueAt } from "../schema/path.ts";
import { type Fault, faultsOf } from "../schema/validate.ts";
import { methods, selectedMethod, selectedName } from "./methods.ts";
import { components } from "./session.ts";
import { version } from "./settings.ts";

/** The params as JSON, as the editor has them; empty for none. The form shows the same. */
export const text = signal("");
/** The faults that the server found in the params that were sent last. */
export const serverFaults = signal<readonly Fault[]>([]);
/** Faults are shown once the user has changed or sent the params. */
export const touched = signal(false);
const wanted = signal<ParamsForm>("named");
/** A method was chosen before the server described it. */
let awaitsExample = false;

type Parsed = { readonly value: ParamsValue } | { readonly fault: string };

export const parsed = computed((): Parsed => {
  const source = text.value.trim();
  if (source === "") return { value: undefined };
  try {
    const value: unknown = JSON.parse(source);
    if (typeof value === "object" && value !== null) return { value: value as ParamsValue };
    return { fault: "Params must be an object or an array." };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : "This is not JSON." };
  }
});

let lastGood: ParamsValue;
/** The params; while the user types invalid JSON, the last valid ones. */
export const value = computed((): ParamsValue => {
  const now = parsed.value;
  if ("value" in now) lastGood = now.value;
  return lastGood;
});

export const form = computed((): ParamsForm => {
  if (version.value === "1.0") return "positional";
  return formOf(value.value) ?? wanted.value;
});

export const schema = computed(() => {
  const method = selectedMethod.value;
  return method === undefined ? {} : paramsSchema(method, form.value, components.value);
});

/** Faults according to the schema. */
export const ownFaults = computed((): Fault[] => {
  const method = selectedMethod.value;
  if (method === undefined || !("value" in parsed.value)) return [];
  const given = parsed.value.value ?? (form.value === "positional" ? [] : {});
  return faultsOf(given, schema.value, components.value);
});

/** All faults, at the paths that the form and the editor use. */
export const faults = computed((): Fault[] => {
  const method = selectedMethod.value;
  const places = serverFaults.value.map((fault) => ({
    ...fault,
    path: placed(fault.path, method, form.value),
  }));
  return [...ownFaults.value, ...places];
});

/** Chooses a method, with the params of its first example unless others are given. */
export function choose(name: string, params?: { readonly value: ParamsValue }): void {
  batch(() => {
    selectedName.value = name;
    const method = selectedMethod.value;
    if (method === undefined) return;
    awaitsExample = params === undefined && !isListed();
    wanted.value = formsOf(method)[0] ?? "named";
    write(params === undefined ? firstParams(method, components.value) : params.value);
    touched.value = false;
  });
}

/** Fills in the example of a method that was chosen before the server had described it. */
export function chooseAgain(): void {
  const name = selectedName.value;
  if (awaitsExample && name !== undefined && isListed() && !touched.value) choose(name);
}

function isListed(): boolean {
  return methods.value.some(({ name }) => name === selectedName.value);
}

export function write(params: ParamsValue): void {
  batch(() => {
    const made =
      version.value === "1.0" && selectedMethod.value !== undefined
        ? converted(params, "positional", selectedMethod.value)
        : params;
    text.value = made === undefined ? "" : JSON.stringify(made, null, 2);
    serverFaults.value = [];
  });
}

/** The form changed one value; undefined removes it. */
export function setAt(path: Path, inner: unknown): void {
  batch(() => {
    touched.value = true;
    const base = value.value ?? (form.value === "positional" ? [] : {});
    const [first, ...rest] = path;
    const isGap =
      inner === undefined &&
      rest.length === 0 &&
      Array.isArray(base) &&
      Number(first) < base.length - 1;
    write(withValueAt(base, path, isGap ? null : inner) as ParamsValue);
  });
}

export function edit(source: string): void {
  batch(() => {
    touched.value = true;
    text.value = source;
    serverFaults.value = [];
  });
}

export function setForm(to: ParamsForm): void {
  const method = selectedMethod.value;
  if (method === undefined) return;
  batch(() => {
    wanted.value = to;
    write(converted(value.value, to, method));
  });
}

/** The params that are sent: JSON-RPC 1.0 requires an array. */
export function paramsToSend(): ParamsValue {
  const given = value.value;
  const method = selectedMethod.value;
  if (version.value !== "1.0" || method === undefined) return given;
  return converted(given, "positional", method) ?? [];
}

/** Servers may report a param by name while the form has it by position, or the other way round. */
function placed(path: Path, method: OpenrpcMethod | undefined, to: ParamsForm): Path {
  const [first, ...rest] = path;
  const names = (method?.params ?? []).map(({ name }) => name);
  if (to === "positional" && typeof first === "string" && names.includes(first)) {
    return [names.indexOf(first), ...rest];
  }
  if (to === "named" && typeof first === "number" && names[first] !== undefined) {
    return [names[first] as string, ...rest];
  }
  return path;
}
