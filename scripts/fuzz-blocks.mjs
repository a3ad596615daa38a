// Marks the blocks of a bundle, so that fuzzing knows when an input executes one for the first time. A block that has
// been executed costs one comparison from then on, so every input of a campaign is guided.
import { parse } from "acorn";

/** @typedef {{ type: string, start: number, end: number, [member: string]: unknown }} Node */

/**
 * @param {string} code a bundle of esbuild, which names the file of each part in a comment
 * @returns {{ code: string, files: string[] }} the marked bundle, and the file of each block
 */
export function markBlocks(code) {
  const tree = /** @type {Node} */ (
    /** @type {unknown} */ (parse(code, { ecmaVersion: "latest", sourceType: "module" }))
  );
  const fileAt = filesOf(code);
  /** @type {string[]} */
  const files = [];
  /** @type {{ at: number, text: string }[]} */
  const insertions = [];
  /** @param {number} at @param {(mark: string) => string} text */
  const mark = (at, text) => {
    const file = fileAt(at);
    if (!file.startsWith("src/")) return false;
    insertions.push({
      at,
      text: text(`$blocks[${files.push(file) - 1}]&&$reach(${files.length - 1})`),
    });
    return true;
  };
  /** @param {unknown} branch */
  const expression = (branch) => {
    const { start, end } = /** @type {Node} */ (branch);
    if (mark(start, (reach) => `(${reach},`)) insertions.push({ at: end, text: ")" });
  };
  /** @param {unknown} branch */
  const statement = (branch) => {
    const node = /** @type {Node | null} */ (branch);
    if (node === null || node.type === "BlockStatement") return;
    if (mark(node.start, (reach) => `{${reach};`)) insertions.push({ at: node.end, text: "}" });
  };
  walk(tree, (node) => {
    switch (node.type) {
      case "BlockStatement":
        mark(node.start + 1, (reach) => `${reach};`);
        break;
      case "ArrowFunctionExpression":
        if (node.expression) expression(node.body);
        break;
      case "ConditionalExpression":
        expression(node.consequent);
        expression(node.alternate);
        break;
      case "LogicalExpression":
        expression(node.right);
        break;
      case "IfStatement":
        statement(node.consequent);
        statement(node.alternate);
        break;
      case "ForStatement":
      case "ForOfStatement":
      case "ForInStatement":
      case "WhileStatement":
        statement(node.body);
        break;
      case "SwitchCase": {
        const [first] = /** @type {Node[]} */ (node.consequent);
        if (first) mark(first.start, (reach) => `${reach};`);
        break;
      }
      default:
    }
  });
  return { code: header + inserted(code, insertions), files };
}

const header = "const { blocks: $blocks, reach: $reach } = globalThis.fuzzedBlocks;\n";

/** @param {Node} node @param {(node: Node) => void} visit */
function walk(node, visit) {
  visit(node);
  for (const member of Object.values(node)) {
    for (const child of Array.isArray(member) ? member : [member]) {
      if (typeof child?.type === "string") walk(child, visit);
    }
  }
}

/** @param {string} code @param {{ at: number, text: string }[]} insertions */
function inserted(code, insertions) {
  let result = "";
  let last = 0;
  // Sorting is stable, so at one place the outer mark stays before the inner one.
  for (const { at, text } of insertions.sort((a, b) => a.at - b.at)) {
    result += code.slice(last, at) + text;
    last = at;
  }
  return result + code.slice(last);
}

/** @param {string} code @returns {(at: number) => string} */
function filesOf(code) {
  const comments = [...code.matchAll(/^\/\/ ((?:src|test|node_modules)\/\S+)$/gm)];
  return (at) => comments.findLast(({ index }) => index < at)?.[1] ?? "";
}
