// Reads the model of the Language Server Protocol from the type declarations of the npm package
// vscode-languageserver-protocol, from which its authors derive the published meta model too.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * A type: the name of a primitive, `#Name` of a structure, literals (`["=", "a", "b"]`), a union (`["|", …]`), an
 * intersection (`["&", …]`), an array (`["[]", item]`), a tuple (`["()", …]`), an object with any names
 * (`["{}", value]`), or an object whose members are named `name` or, if optional, `name?`.
 * @typedef {string | [string, ...any[]] | { [name: string]: Type }} Type
 *
 * @typedef {object} Message
 * @property {string} method
 * @property {boolean} isRequest
 * @property {"clientToServer" | "serverToClient" | "both"} direction
 * @property {Type | undefined} params
 * @property {Type} result
 * @property {Type | undefined} partial of the result
 * @property {Type | undefined} registration options
 * @property {string | undefined} client path of the capability
 * @property {string | undefined} server path of the capability
 * @property {string | undefined} registrationMethod the name in a registration, if it is another
 *
 * @typedef {object} Model
 * @property {string} version of the package
 * @property {Map<string, Type>} types
 * @property {Map<string, Record<string, string | number>>} enumerations the values by name, for those that have names
 * @property {Set<string>} deprecated as `Name` or `Name.member`
 * @property {Message[]} messages
 */

const peers = fileURLToPath(new URL("../test/interop/", import.meta.url));
const require = createRequire(join(peers, "package.json"));
const primitives = new Set(["uinteger", "integer", "decimal", "string", "boolean"]);

/** @returns {Promise<Model>} */
export async function readModel() {
  const ts = require("typescript");
  const main = require.resolve("vscode-languageserver-protocol");
  const api = /** @type {Record<string, any>} */ (await import(pathToFileURL(main).href)).default;
  const { version } = require(join(dirname(main), "../../package.json"));
  /** @type {Model} */
  const model = {
    version,
    types: new Map(),
    enumerations: new Map(),
    deprecated: new Set(),
    messages: [],
  };
  const declarations = new Declarations(ts, model, api);
  for (const file of declarationFiles(main)) declarations.read(file);
  for (const each of declarations.namespaces) declarations.readNamespace(each);
  addWhatIsMissing(model);
  return model;
}

/** @param {string} main */
function declarationFiles(main) {
  const types = createRequire(main).resolve("vscode-languageserver-types");
  const folder = dirname(main);
  const own = readdirSync(folder).filter((name) => /^protocol.*\.d\.ts$/.test(name));
  return [types.replace(/\.js$/, ".d.ts"), ...own.sort().map((name) => join(folder, name))];
}

const notebooks = { server: "notebookDocumentSync", client: "notebookDocument.synchronization" };

/** Paths that the package leaves out or gives only in part. @type {Record<string, Partial<Message>>} */
const fullPaths = {
  "notebookDocument/didChange": notebooks,
  "notebookDocument/didClose": notebooks,
  "notebookDocument/didOpen": notebooks,
  "notebookDocument/didSave": { ...notebooks, server: "notebookDocumentSync.save" },
  "textDocument/semanticTokens/full": { server: "semanticTokensProvider.full" },
  "workspace/codeLens/refresh": { client: "workspace.codeLens.refreshSupport" },
};

/** The declarations of vscode-jsonrpc have no form that can be read here. @param {Model} model */
function addWhatIsMissing({ types, messages }) {
  types.set("ProgressToken", ["|", "integer", "string"]);
  types.set("TraceValue", ["=", "off", "messages", "verbose"]);
  types.set("SetTraceParams", { value: "#TraceValue" });
  types.set("LogTraceParams", { message: "string", "verbose?": "string" });
  types.set("CancelParams", { id: ["|", "integer", "string"] });
  types.set("ProgressParams", { token: "#ProgressToken", value: "any" });
  const none = {
    partial: undefined,
    registration: undefined,
    client: undefined,
    server: undefined,
    registrationMethod: undefined,
  };
  /** @type {[string, Message["direction"], Type][]} */
  const missing = [
    ["$/cancelRequest", "both", "#CancelParams"],
    ["$/progress", "both", "#ProgressParams"],
    ["$/setTrace", "clientToServer", "#SetTraceParams"],
    ["$/logTrace", "serverToClient", "#LogTraceParams"],
  ];
  for (const message of messages) Object.assign(message, fullPaths[message.method]);
  for (const [method, direction, params] of missing) {
    messages.push({ ...none, isRequest: false, method, direction, params, result: "null" });
  }
}

class Declarations {
  /** @type {any[]} */
  namespaces = [];
  /** Type parameters, which stand for values that the protocol leaves open. @type {string[]} */
  #parameters = [];

  /** @param {any} ts @param {Model} model @param {Record<string, any>} api */
  constructor(ts, model, api) {
    this.ts = ts;
    this.model = model;
    this.api = api;
  }

  /** @param {string} file */
  read(file) {
    const { ts, model } = this;
    const source = ts.createSourceFile(
      file,
      readFileSync(file, "utf8"),
      ts.ScriptTarget.Latest,
      true,
    );
    for (const node of source.statements) {
      if (ts.isModuleDeclaration(node)) this.namespaces.push(node);
      else if (ts.isInterfaceDeclaration(node)) {
        this.#parameters = (node.typeParameters ?? []).map(
          (/** @type {any} */ each) => each.name.text,
        );
        const bases = (node.heritageClauses ?? []).flatMap((/** @type {any} */ { types }) =>
          types.map((/** @type {any} */ each) => `#${each.expression.text}`),
        );
        const own = this.#members(node.members, node.name.text);
        model.types.set(node.name.text, bases.length === 0 ? own : ["&", ...bases, own]);
        this.#note(node, node.name.text);
        this.#parameters = [];
      } else if (ts.isTypeAliasDeclaration(node) && node.typeParameters === undefined) {
        const { text } = node.name;
        if (!primitives.has(text)) model.types.set(text, this.#type(node.type, text));
        this.#note(node, text);
      } else if (ts.isEnumDeclaration(node)) {
        const values = node.members.map((/** @type {any} */ { initializer }) => initializer.text);
        model.types.set(node.name.text, ["=", ...values]);
        model.enumerations.set(node.name.text, { ...this.#runtime(node.name.text) });
      }
    }
  }

  /** A namespace with `type` is a message; one with constants gives names to the values of a type. */
  readNamespace(/** @type {any} */ node) {
    const { ts, model } = this;
    const name = node.name.text;
    const constants = new Map(
      node.body.statements
        .filter(ts.isVariableStatement)
        .flatMap((/** @type {any} */ { declarationList }) => declarationList.declarations)
        .map((/** @type {any} */ each) => [each.name.text, each.type]),
    );
    const kind = constants.get("type")?.typeName?.text ?? "";
    const isRequest = kind.startsWith("ProtocolRequestType");
    if (!isRequest && !kind.startsWith("ProtocolNotificationType")) {
      const values = Object.entries(this.#runtime(name)).filter(([, value]) =>
        ["string", "number"].includes(typeof value),
      );
      const isNamed = values.length > 0 && model.types.has(name);
      if (isNamed) model.enumerations.set(name, Object.fromEntries(values));
      return;
    }
    const value = this.#runtime(name);
    const given = constants
      .get("type")
      .typeArguments.map((/** @type {any} */ each) => this.#type(each));
    if (kind.endsWith("0")) given.unshift(undefined);
    const [params, result, partial] = isRequest ? given : [given[0], "void", "void"];
    model.messages.push({
      method: value.method,
      isRequest,
      direction: value.messageDirection,
      params: unlessVoid(params),
      result: unlessVoid(result) ?? "null",
      partial: unlessVoid(partial),
      registration: unlessVoid(given.at(-1)),
      client: value.capabilities?.client,
      server: value.capabilities?.server,
      registrationMethod: value.registrationMethod,
    });
  }

  /** @param {string} name */
  #runtime(name) {
    return this.api[name] ?? {};
  }

  /** Remembers what is deprecated. @param {any} node @param {string} path */
  #note(node, path) {
    if (this.ts.getJSDocDeprecatedTag(node) !== undefined) this.model.deprecated.add(path);
  }

  /** @param {any[]} members @param {string} [owner] @returns {Type} */
  #members(members, owner) {
    /** @type {Record<string, Type>} */
    const named = {};
    /** @type {Type | undefined} */
    let others;
    for (const member of members) {
      if (this.ts.isIndexSignatureDeclaration(member)) others = ["{}", this.#type(member.type)];
      if (!this.ts.isPropertySignature(member)) continue;
      const name = member.name.text;
      named[member.questionToken === undefined ? name : `${name}?`] = this.#type(member.type);
      if (owner !== undefined) this.#note(member, `${owner}.${name}`);
    }
    // Beside named members others are allowed in any case.
    return others !== undefined && Object.keys(named).length === 0 ? others : named;
  }

  /** @param {any} node @param {string} [owner] the alias that it defines @returns {any} */
  #type(node, owner) {
    const { ts } = this;
    switch (node.kind) {
      case ts.SyntaxKind.StringKeyword:
        return "string";
      case ts.SyntaxKind.BooleanKeyword:
        return "boolean";
      case ts.SyntaxKind.NumberKeyword:
        return "decimal";
      case ts.SyntaxKind.AnyKeyword:
        return "any";
      case ts.SyntaxKind.ObjectKeyword:
        return "object";
      case ts.SyntaxKind.VoidKeyword:
      case ts.SyntaxKind.NeverKeyword:
      case ts.SyntaxKind.UndefinedKeyword:
        return "void";
      case ts.SyntaxKind.ArrayType:
        return ["[]", this.#type(node.elementType)];
      case ts.SyntaxKind.TupleType:
        return ["()", ...node.elements.map((/** @type {any} */ each) => this.#type(each))];
      case ts.SyntaxKind.ParenthesizedType:
        return this.#type(node.type, owner);
      case ts.SyntaxKind.TypeLiteral:
        return this.#members(node.members, owner);
      case ts.SyntaxKind.IntersectionType:
        return ["&", ...node.types.map((/** @type {any} */ each) => this.#type(each, owner))];
      case ts.SyntaxKind.UnionType:
        return union(node.types.map((/** @type {any} */ each) => this.#type(each)));
      case ts.SyntaxKind.LiteralType:
        return this.#literal(node.literal);
      case ts.SyntaxKind.TypeQuery:
        return ["=", this.#runtime(node.exprName.left.text)[node.exprName.right.text]];
      case ts.SyntaxKind.TypeReference:
        return this.#reference(node);
      default:
        throw new Error(`cannot read the type ${node.getText()}`);
    }
  }

  /** @param {any} literal */
  #literal(literal) {
    const { ts } = this;
    if (literal.kind === ts.SyntaxKind.NullKeyword) return "null";
    if (literal.kind === ts.SyntaxKind.TrueKeyword) return ["=", true];
    if (literal.kind === ts.SyntaxKind.FalseKeyword) return ["=", false];
    if (ts.isNumericLiteral(literal)) return ["=", Number(literal.text)];
    if (ts.isPrefixUnaryExpression(literal)) return ["=", -Number(literal.operand.text)];
    return ["=", literal.text];
  }

  /** @param {any} node */
  #reference(node) {
    const { text } = node.typeName;
    if (primitives.has(text)) return text;
    if (text === "Array") return ["[]", this.#type(node.typeArguments[0])];
    if (text === "LSPAny" || this.#parameters.includes(text)) return "any";
    if (text === "LSPObject") return "object";
    return `#${text}`;
  }
}

/** Literals of a union are one type; undefined is what is left out. @param {any[]} types */
function union(types) {
  const literals = types.flatMap((each) => (each[0] === "=" ? each.slice(1) : []));
  const rest = types.filter((each) => each[0] !== "=" && each !== "void");
  const all = literals.length === 0 ? rest : [...rest, ["=", ...literals]];
  return all.length === 1 ? all[0] : ["|", ...all];
}

/** @param {Type | undefined} type */
function unlessVoid(type) {
  return type === "void" ? undefined : type;
}
