/** The 1,000 completions that each language server offers. */
export const items = Array.from({ length: 1_000 }, (_, i) => ({
  label: `completion${i}`,
  kind: 6,
  detail: `The completion number ${i}`,
  sortText: String(i).padStart(4, "0"),
}));
