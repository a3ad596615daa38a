// Small faults in a source file, for `npm run mutate`. All mutants of a file are compiled into it at once, each
// behind a switch, so that one process can try them all without loading anything again.
import { parseSync } from "vite";

/**
 * @typedef {object} Mutant
 * @property {string} file
 * @property {number} line
 * @property {string} change what was written, and what takes its place
 *
 * @typedef {{ type: string, start: number, end: number, [member: string]: any }} Node
 */

/** What takes the place of an operator, one mutant each. @type {Record<string, string[]>} */
const operators = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&": ["|"],
  "|": ["&"],
  "^": ["&"],
  "<<": [">>"],
  ">>": ["<<"],
  ">>>": ["<<"],
  "&&": ["||"],
  "||": ["&&"],
  "+=": ["-="],
  "-=": ["+="],
  "*=": ["/="],
  "|=": ["&="],
  "&=": ["|="],
  "^=": ["&="],
  "??=": ["&&="],
  "||=": ["&&="],
  "&&=": ["||="],
};

/** @type {Record<string, string>} */
const opposites = { "<": ">=", "<=": ">", ">": "<=", ">=": "<", "===": "!==", "!==": "===" };

/** Nodes of TypeScript that contain an expression; whatever else is about types does not run. */
const typed = new Set([
  "TSAsExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
  "TSInstantiationExpression",
]);

/**
 * The mutants of a file, and its code with a switch for each: `mutated$(first + index)` says whether it is on.
 * Loops call `looped$()`, which can end one that has become endless.
 * @param {string} file @param {string} source @param {number} first
 */
export function mutate(file, source, first = 0) {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  /** @type {Mutant[]} */
  const mutants = [];
  /** Their fields have to be set. @type {Set<Node>} */
  const constructors = new Set();

  /** Whether a field is undefined without this statement too. @param {Node} node @param {Node} parent */
  function isNoValue({ expression: { type, right } }, parent) {
    const isInConstructor = [...constructors].some(({ body }) => body === parent);
    return isInConstructor && type === "AssignmentExpression" && right.name === "undefined";
  }

  /** @param {Node} node @param {string} to @param {string} [from] */
  function switchFor(node, to, from = source.slice(node.start, node.end)) {
    const line = source.slice(0, node.start).split("\n").length;
    mutants.push({ file, line, change: `${brief(from)} → ${brief(to)}` });
    return `mutated$(${first + mutants.length - 1})`;
  }

  /** The code of a node, with the switches of everything in it. @param {Node} node @returns {string} */
  function inside(node) {
    let code = "";
    let at = node.start;
    for (const { child, key } of childrenOf(node)) {
      code += source.slice(at, child.start) + switched(child, node, key);
      at = child.end;
    }
    return code + source.slice(at, node.end);
  }

  /** @param {Node} node @param {Node} parent @param {string} key @returns {string} */
  function switched(node, parent, key) {
    const isLoop = key === "body" && /^(While|DoWhile|For)/.test(parent.type);
    if (isLoop && node.type !== "BlockStatement") return `{looped$();${switched(node, node, "")}}`;
    if (isLoop) return `{looped$();${inside(node).slice(1)}`;
    if (node.type === "ExpressionStatement") {
      return isNoValue(node, parent) ? inside(node) : statement(node);
    }
    if (parent.type === "MethodDefinition" && parent.kind === "constructor") {
      constructors.add(node);
    }
    const isBody = node.type === "BlockStatement" && key === "body" && /Function/.test(parent.type);
    if (isBody && node.body.length > 0 && !constructors.has(parent)) {
      const isOff = switchFor(node, "{}", `${source.slice(parent.start, node.start)}{…}`);
      return `{if (${isOff}) return;${inside(node).slice(1)}`;
    }
    // Mutants are numbered from the outside in.
    const choices = replacements(node, parent, key).map(
      (to) => `${switchFor(node, to)} ? ${to} : `,
    );
    const code = inside(node);
    return choices.length === 0 ? code : `(${choices.join("")}${code})`;
  }

  /** @param {Node} node */
  function statement(node) {
    if (node.directive || node.expression.callee?.type === "Super") return inside(node);
    return `{if (!${switchFor(node, "nothing")}) {${inside(node)}}}`;
  }

  /** What may take the place of an expression. @param {Node} node @param {Node} parent @param {string} key */
  function replacements(node, parent, key) {
    /** @param {Node} part */
    const text = (part) => source.slice(part.start, part.end);
    /** @type {string[]} */
    const found = [];
    const { operator, value } = node;
    const isCondition = key === "test" && parent.type !== "SwitchCase";
    if (isCondition) {
      found.push("false");
      if (/^(If|Conditional)/.test(parent.type)) found.push("true");
    }
    switch (node.type) {
      case "BinaryExpression":
      case "LogicalExpression":
      case "AssignmentExpression":
        for (const other of operators[operator] ?? []) {
          // The opposite of a condition is noticed if both its values are.
          if (isCondition && opposites[operator] === other) continue;
          const between = source.slice(node.left.end, node.right.start);
          found.push(`${text(node.left)}${between.replace(operator, other)}${text(node.right)}`);
        }
        if (operator === "??") found.push(text(node.left));
        break;
      case "UnaryExpression":
        if (operator === "-" || (operator === "!" && !isCondition)) {
          found.push(text(node.argument));
        }
        break;
      case "UpdateExpression":
        found.push(text(node).replace(/\+\+|--/, (sign) => (sign === "++" ? "--" : "++")));
        break;
      case "AwaitExpression":
        found.push(text(node.argument));
        break;
      case "ArrayExpression":
        if (node.elements.length > 0) found.push("[]");
        break;
      case "ObjectExpression":
        if (node.properties.length > 0) found.push("({})");
        break;
      case "TemplateLiteral":
        if (parent.type !== "TaggedTemplateExpression") found.push('""');
        break;
      case "Literal":
        if (typeof value === "boolean") found.push(String(!value));
        if (typeof value === "number" && parent.type !== "UnaryExpression") {
          found.push(String(value + 1));
        }
        // Comparing with another string is a condition that is never true.
        if (typeof value === "string" && !/^[!=]==$/.test(parent.operator)) {
          found.push(value === "" ? '"?"' : '""');
        }
        break;
    }
    return found;
  }

  const code = inside(/** @type {Node} */ (/** @type {unknown} */ (program)));
  const prelude =
    "var { mutated$, looped$ } = globalThis.mutation$ ?? { mutated$: () => false, looped$() {} };";
  return { code: `${prelude}${source.slice(0, program.start)}${code}`, mutants };
}

/** What runs of a node, in the order of the source. @param {Node} node */
function childrenOf(node) {
  const isElsewhere = /^(Import|ExportAll|ExportSpecifier)/.test(node.type) || node.source;
  if (isElsewhere || node.declare) return [];
  /** @type {{ child: Node, key: string }[]} */
  const children = [];
  for (const [key, value] of Object.entries(node)) {
    const isName = key === "key" && node.computed !== true;
    const isTarget =
      (key === "left" && /^(Assignment|ForIn|ForOf)/.test(node.type)) || key === "label";
    if (isName || isTarget) continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type !== "string") continue;
      if (child.type.startsWith("TS") && !typed.has(child.type)) continue;
      children.push({ child, key });
    }
  }
  return children.sort((a, b) => a.child.start - b.child.start);
}

/** @param {string} text */
function brief(text) {
  const line = text.replace(/\s+/g, " ");
  return line.length > 70 ? `${line.slice(0, 69)}…` : line;
}
