import { computed, signal } from "@preact/signals";

/** The items of an upload, as the user wrote them: JSON, one per line. */
export const uploadText = signal("");

const read = computed((): { readonly items: readonly unknown[]; readonly fault?: string } => {
  const items: unknown[] = [];
  for (const [i, line] of uploadText.value.split("\n").entries()) {
    try {
      if (line.trim() !== "") items.push(JSON.parse(line));
    } catch {
      return { items, fault: `Line ${i + 1} is not JSON.` };
    }
  }
  return { items };
});

export const uploadItems = computed(() => read.value.items);
export const uploadFault = computed(() => read.value.fault);
