/** A result with 100 dates, as a table of a database has them. */
const rows = Array.from({ length: 100 }, (_, i) => ({
  id: i,
  name: `order ${i}`,
  at: new Date(1_800_000_000_000 + i * 1_000),
}));

export function dated() {
  return { rows };
}

export const expected = { add: 3, "100 dates": dated() };
