/** A result of about 64 KiB, of which no two records are equal, and the request for it. */

const names = ["Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Niklaus", "Radia"];

/** Pseudo-random and always the same. */
function* numbers() {
  let seed = 1;
  for (;;) {
    seed = (seed * 48_271) % 2_147_483_647;
    yield seed;
  }
}

function makeRecords() {
  const random = numbers();
  const next = (below) => random.next().value % below;
  return Array.from({ length: 549 }, (_, id) => ({
    id,
    name: `${names[next(names.length)]} ${next(1_000_000).toString(36)}`,
    at: new Date(1_763_000_000_000 + next(1_000_000_000)).toISOString(),
    price: next(100_000) / 100,
    tags: [names[next(names.length)].toLowerCase(), `tag-${next(50)}`],
    isOpen: next(2) === 0,
  }));
}

export const records = makeRecords();

export const recordsRequest = '{"jsonrpc":"2.0","method":"records","id":1}';

/** The reply as a server without a library writes it. */
export function recordsReply({ id }) {
  return JSON.stringify({ jsonrpc: "2.0", result: records, id });
}
