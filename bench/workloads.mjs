/**
 * What every JSON-RPC candidate is sent, and what it must answer (members in any order).
 *
 * Clients write the members of a request in different orders, and a server may be faster with one
 * of them: rpc-websockets and the specification's examples have the id last, json-rpc-2.0 and
 * vscode-jsonrpc second. Both are measured.
 */

const kibibyte = "callwire".repeat(128);

/** Each workload has this many texts, so that remembering the last one does not help. */
const variants = 16;

export function idLast(id, method, params) {
  return { jsonrpc: "2.0", method, params, id };
}

export function idSecond(id, method, params) {
  return { jsonrpc: "2.0", id, method, params };
}

function answer(id, result) {
  return { jsonrpc: "2.0", result, id };
}

function single(form, method, params, result) {
  return Array.from({ length: variants }, (_, i) => ({
    text: JSON.stringify(form(i + 1, method, params(i))),
    reply: answer(i + 1, result(i)),
  }));
}

function batch(form, length) {
  return Array.from({ length: variants }, (_, i) => {
    const ids = Array.from({ length }, (_, entry) => entry + 1);
    return {
      text: JSON.stringify(ids.map((id) => form(id, "add", [i, id]))),
      reply: ids.map((id) => answer(id, i + id)),
    };
  });
}

const sum = [(i) => [i, 2], (i) => i + 2];
const echo = [(i) => [`${i % 10}${kibibyte.slice(1)}`], (i) => `${i % 10}${kibibyte.slice(1)}`];

export const workloads = {
  add: single(idLast, "add", ...sum),
  "add, id second": single(idSecond, "add", ...sum),
  "echo 1 KiB": single(idLast, "echo", ...echo),
  "batch 100": batch(idLast, 100),
  "batch 100, id second": batch(idSecond, 100),
  "batch 1000": batch(idLast, 1000),
};

/** The same two methods for peers with another protocol. */
export const foreign = {
  add: { input: [1, 2], result: 3 },
  "echo 1 KiB": { input: kibibyte, result: kibibyte },
};
