import { computed, signal } from "@preact/signals";
import type { OpenrpcMethod } from "callwire/openrpc";
import { description } from "./session.ts";

export const search = signal("");
export const selectedName = signal<string | undefined>(undefined);

/** Methods that share the first part of their names. */
export interface Group {
  /** Empty for methods without a group. */
  readonly name: string;
  readonly methods: readonly { readonly label: string; readonly method: OpenrpcMethod }[];
}

export const methods = computed(() => description.value?.methods ?? []);

/** The chosen method; one that the server does not list can be called too. */
export const selectedMethod = computed((): OpenrpcMethod | undefined => {
  const name = selectedName.value;
  if (name === undefined) return undefined;
  return methods.value.find((method) => method.name === name) ?? unlisted(name);
});

export const found = computed(() => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  return methods.value.filter((method) => {
    const text = [method.name, method.summary, method.description, ...tagsOf(method)]
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
});

export const groups = computed((): Group[] => {
  const byName = new Map<string, { label: string; method: OpenrpcMethod }[]>();
  for (const method of found.value) {
    const [, group = "", label = method.name] = /^(.+)([/.][^/.]+)$/.exec(method.name) ?? [];
    const list = byName.get(group) ?? [];
    list.push({ label: label.replace(/^[/.]/, ""), method });
    byName.set(group, list);
  }
  return [...byName].map(([name, list]) => ({ name, methods: list }));
});

/** The method that new users see first. */
export function firstMethod(): OpenrpcMethod | undefined {
  const list = methods.value;
  return (
    list.find(({ name }) => name === "math/add") ??
    list.find(({ examples, deprecated }) => (examples ?? []).length > 0 && deprecated !== true) ??
    list[0]
  );
}

export function isStream(method: OpenrpcMethod): boolean {
  return method["x-stream"] !== undefined;
}

function tagsOf(method: OpenrpcMethod): string[] {
  return (method.tags ?? []).map(({ name }) => name);
}

function unlisted(name: string): OpenrpcMethod {
  const description = "The server does not describe this method; the params are up to you.";
  return { name, description, params: [], "x-params": {} };
}
