/** Calls as applications make them: params by name, nested objects, spaces in the JSON, batches of mixed calls, errors. */

/** Texts differ in their length, so that no two requests in a row have the same head. */
const variants = 16;

/** About 1 KiB with 8 lines, as an order or a profile is, and 64 KiB with 590. */
function order(i, lines = 8) {
  return {
    id: `order-${1000 ** (i % 3)}${i}`,
    customer: { name: "Ada Lovelace", email: "ada@example.com", vip: i % 2 === 0 },
    lines: Array.from({ length: lines }, (_, line) => ({
      sku: `sku-${line}-${i}`,
      title: "A thing of some use",
      quantity: line + 1,
      price: { amount: 12.5 * (line + 1), currency: "EUR" },
    })),
    note: null,
  };
}

const calls = {
  add: (i) => ({ params: { a: 10 ** (i % 5), b: i }, result: 10 ** (i % 5) + i }),
  addLater: (i) => calls.add(i),
  echo: (i) => ({ params: { order: order(i) }, result: order(i) }),
  echoLater: (i) => calls.echo(i),
  /** The same method with a long order. */
  echoLong: (i) => ({ params: { order: order(i, 590) }, result: order(i, 590) }),
  fail: () => ({ params: { a: 1, b: 2 }, error: { code: 1000, message: "out of stock" } }),
};

function call(method, i) {
  const { params, ...outcome } = calls[method](i);
  const id = i + 1;
  return {
    request: { jsonrpc: "2.0", method: method === "echoLong" ? "echoLater" : method, params, id },
    reply: { jsonrpc: "2.0", ...outcome, id },
  };
}

function single(method, write = JSON.stringify) {
  return Array.from({ length: variants }, (_, i) => {
    const { request, reply } = call(method, i);
    return { text: write(request), reply };
  });
}

function batches(methods, length) {
  return Array.from({ length: variants }, (_, i) => {
    const entries = Array.from({ length }, (_, entry) =>
      call(methods[entry % methods.length], i + entry),
    );
    return {
      text: JSON.stringify(entries.map(({ request }) => request)),
      reply: entries.map(({ reply }) => reply),
    };
  });
}

/** As Python's `json.dumps` writes it. */
function spaced(value) {
  return JSON.stringify(value, null, 1)
    .replaceAll(/\n */g, " ")
    .replaceAll(/([[{]) | ([\]}])/g, "$1$2");
}

const hundred = Array.from({ length: 100 }, (_, i) => call(i === 50 ? "fail" : "addLater", i)).map(
  ({ request, reply }) => ({ text: JSON.stringify(request), reply }),
);

export const realistic = {
  add: single("add"),
  "async add": single("addLater"),
  nested: single("echo"),
  "async nested": single("echoLater"),
  "async add with spaces": single("addLater", spaced),
  "async nested with spaces": single("echoLater", spaced),
  "async nested 64 KiB": single("echoLong"),
  "batch of 100": batches(["add"], 100),
  "batch of 20 mixed": batches(["add", "addLater", "echo", "echoLater", "fail"], 20),
  "async add, 1 % errors": hundred,
};
