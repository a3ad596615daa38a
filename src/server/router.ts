import { definitionOf, isGeneratorFunction } from "../openrpc/function-notes.ts";
import { argumentsByName, parameterNames } from "../openrpc/parameter-names.ts";
import { type AccessRule, satisfies } from "../protocol/access.ts";
import type { Context } from "../protocol/context.ts";
import type { MethodLimits } from "../protocol/contract.ts";
import type { Undisclosed } from "../protocol/errors.ts";
import type { Handle } from "../protocol/handle.ts";
import { caught, LaterReply } from "../protocol/handler-reply.ts";
import {
  type ErrorObject,
  failure,
  isNotification,
  isThenable,
  type MaybePromise,
  noTypes,
  type Params,
  type Reply,
  type Request,
  success,
  type TypedPaths,
} from "../protocol/message.ts";
import { methodNotFound } from "../protocol/standard-errors.ts";
import type { Schema } from "../protocol/standard-schema.ts";
import { uploadUnwanted } from "../protocol/upload.ts";
import { decodedParams, limitsOf, refusedParams } from "./decoded-params.ts";
import { checkDefinition, checkProgress, errorMakers } from "./definition.ts";
import { Method, type MethodHandler, type Methods, type StreamHandler } from "./method.ts";
import { type Invoke, receiving } from "./receiving.ts";
import { sendItems } from "./stream.ts";
import { invalidParamsReply, paramsCheck, resultCheck } from "./validate.ts";

/** Runs one method. */
type Run = (params: Params | undefined, context: Context) => MaybePromise<Reply>;

/** The methods of a server by their full names. */
export type MethodTable = ReadonlyMap<string, Method>;

/** Joins the names of nested groups, and rejects what callers could not or must not reach. */
export function tableOf(methods: Methods, separator: string): MethodTable {
  const table = new Map<string, Method>();
  collect(methods, "", separator, table);
  return table;
}

function collect(
  group: Methods,
  prefix: string,
  separator: string,
  table: Map<string, Method>,
): void {
  const entries = Object.entries(group);
  if (entries.length === 0 && !isPlain(group)) {
    const what =
      prefix === ""
        ? "the object given to createServer"
        : `"${prefix.slice(0, -separator.length)}"`;
    throw new TypeError(`${what} has no own methods; pass a plain object of functions`);
  }
  for (const [key, entry] of entries) {
    const name = prefix + key;
    if (entry instanceof Method || typeof entry === "function") {
      if (name.startsWith("rpc.")) {
        throw new TypeError(`"${name}": names that begin with "rpc." are reserved by JSON-RPC`);
      }
      if (table.has(name)) throw new TypeError(`"${name}" is defined twice`);
      if (isClass(entry instanceof Method ? entry.handler : entry)) {
        throw new TypeError(`"${name}" is a class, which cannot be called; give a function`);
      }
      table.set(name, entry instanceof Method ? runnable(entry, name) : plainMethod(entry));
    } else if (typeof entry === "object" && entry !== null) {
      collect(entry, name + separator, separator, table);
    } else {
      throw new TypeError(`"${name}" is neither a method nor a group of methods`);
    }
  }
}

/** An instance has its methods on its prototype, which callers must not reach, and a promise has no methods yet. */
function isPlain(group: object): boolean {
  return group.constructor === Object || group.constructor === undefined;
}

function isClass(run: unknown): boolean {
  return typeof run === "function" && /^class\b/.test(Function.prototype.toString.call(run));
}

function runnable(entry: Method, name: string): Method {
  const { kind, handler } = entry;
  checkDefinition(entry, name);
  if (handler === undefined) {
    throw new TypeError(`"${name}" is a contract without a handler; complete it with implement()`);
  }
  if (kind === "method" && isGeneratorFunction(handler)) {
    throw new TypeError(`"${name}" has a generator as its handler; define it with stream()`);
  }
  return entry;
}

/**
 * Plain functions take params as sent: positional ones as arguments; named ones too if the function has several
 * parameters with these names; otherwise as one object.
 */
function plainMethod(run: (...args: never[]) => unknown): Method {
  const spread = run as (...args: unknown[]) => unknown;
  const parameters = parameterNames(run);
  const names = parameters.form === "named" ? parameters.names : [];
  const byName = (params: Readonly<Record<string, unknown>>): unknown => {
    const args = names.length < 2 ? undefined : argumentsByName(names, params);
    return args === undefined ? spread(params) : spread(...args);
  };
  const handler = (params: unknown): unknown => {
    if (!Array.isArray(params))
      return params === undefined || params === null ? spread() : byName(params as never);
    // Spreading is slow; nearly every call has one or two arguments.
    if (params.length === 2) return spread(params[0], params[1]);
    if (params.length === 1) return spread(params[0]);
    return spread(...params);
  };
  const kind = isGeneratorFunction(run) ? "stream" : "method";
  return new Method(kind, definitionOf(run), handler, parameters);
}

/**
 * Looks names up in a Map, so that no name from the wire ever reaches a prototype. System methods, such as
 * `rpc.discover`, are in no table. `answersDirectly` says that there is no middleware, which could drop a reply.
 */
export function createRouter(
  table: MethodTable,
  system: MethodTable = new Map(),
  answersDirectly = false,
): Handle {
  const runs = new Map<string, Run>();
  const receives = new Set<string>();
  const rules = new Map<string, AccessRule>();
  for (const [name, entry] of [...table, ...system]) {
    const { access } = entry.definition;
    if (access !== undefined) rules.set(name, access);
    runs.set(name, runOf(entry, answersDirectly));
    if (entry.definition.upload !== undefined) receives.add(name);
  }
  const unknownMethod = failure(methodNotFound);
  const isGuarded = rules.size > 0;
  const limits = limitsOf(table);
  return (request, context) => {
    const run = runs.get(request.method);
    if (run === undefined) return unknownMethod;
    if (isGuarded && !mayCall(rules.get(request.method), context)) return concealed;
    // Without middleware no time has passed since the call arrived.
    const ended = answersDirectly ? undefined : endedBefore(context);
    if (ended !== undefined) return ended;
    if (request.upload !== undefined && !receives.has(request.method)) return unwanted;
    return request.types === undefined || request.types === noTypes
      ? run(request.params, context)
      : runTyped(run, request, context, limits.get(request.method));
  };
}

const unwanted = failure(uploadUnwanted);

/** Converts the rich values in the params first. */
function runTyped(
  run: Run,
  { params, types }: Request,
  context: Context,
  limits: MethodLimits | undefined,
): MaybePromise<Reply> {
  const { incoming } = context;
  if (incoming === undefined) return run(params, context);
  try {
    const decoded = decodedParams(params, types as TypedPaths, incoming, limits);
    return decoded instanceof Promise
      ? decoded.then(
          (values) => endedBefore(context) ?? run(values, context),
          (thrown) => refusedParams(thrown),
        )
      : run(decoded, context);
  } catch (thrown) {
    return refusedParams(thrown);
  }
}

/**
 * A call that ended while middleware or validation was awaited does not begin: its caller was answered or cancelled,
 * and may have called again. A notification does, because no caller waits.
 */
function endedBefore(context: Context): Reply | undefined {
  const { ended } = context;
  if (ended === undefined) return undefined;
  const { incoming } = context;
  return incoming !== undefined && isNotification(incoming.request) ? undefined : failure(ended);
}

/** For the caller the same as an unknown method; the reason is not sent. */
const concealed = failure({
  ...methodNotFound,
  reason: "the access rule of the method",
} as ErrorObject & Undisclosed);

function mayCall(rule: AccessRule | undefined, { principal, transport }: Context): boolean {
  return rule === undefined || satisfies(rule, principal, transport);
}

/** For methods that name their positions but validate nothing. */
const anyParams: Schema = {
  "~standard": { version: 1, vendor: "callwire", validate: (value) => ({ value }) },
};

function runOf(entry: Method, answersDirectly: boolean): Run {
  const { definition } = entry;
  const { upload } = definition;
  const answers = answersDirectly && upload === undefined;
  const reported = withProgress(
    definition.progress,
    entry.kind === "stream" ? invokeStream(entry) : invokeMethod(entry, answers),
  );
  const invoke = upload === undefined ? reported : receiving(upload, reported);
  const schema = definition.params ?? (definition.positional === undefined ? undefined : anyParams);
  const valid = schema === undefined ? invoke : withParams(schema, entry, invoke);
  const checked = entry.sources.length === 0 ? valid : withSources(entry, valid);
  const run = definition.compress === false ? withoutCompression(checked as Run) : (checked as Run);
  // A stream lasts as long as it is read, and an upload as long as its caller sends.
  const isOpenEnded = entry.kind === "stream" || upload !== undefined;
  const limitMs = definition.timeoutMs ?? (isOpenEnded ? Number.POSITIVE_INFINITY : undefined);
  if (limitMs === undefined) return run;
  return (params, context) => {
    context.limit?.(limitMs);
    return run(params, context);
  };
}

function withoutCompression(run: Run): Run {
  return (params, context) => {
    if (context.incoming !== undefined) context.incoming.origin.mayCompress = false;
    return run(params, context);
  };
}

function invokeMethod(entry: Method, answersDirectly: boolean): Invoke {
  const handler = entry.handler as MethodHandler<unknown>;
  const errors = errorMakers(entry.definition.errors);
  const check =
    entry.definition.result === undefined ? success : resultCheck(entry.definition.result);
  return (params, context) => {
    try {
      const result = handler(params, context, errors);
      if (!isThenable(result)) return check(result);
      return answersDirectly && check === success && result instanceof Promise
        ? new LaterReply(result, context)
        : settle(result, context, check);
    } catch (thrown) {
      return caught(thrown, context);
    }
  };
}

function invokeStream(entry: Method): Invoke {
  const handler = entry.handler as StreamHandler<unknown>;
  const errors = errorMakers(entry.definition.errors);
  const { item } = entry.definition;
  return (params, context) => {
    try {
      return sendItems(() => handler(params, context, errors), context, item);
    } catch (thrown) {
      return caught(thrown, context);
    }
  };
}

function withProgress(schema: Schema | undefined, invoke: Invoke): Invoke {
  if (schema === undefined) return invoke;
  return (params, context) => {
    checkProgress(context, schema);
    return invoke(params, context);
  };
}

function withParams(schema: Schema, entry: Method, invoke: Invoke): Run {
  const check = paramsCheck(schema, entry.definition.positional);
  return (params, context) => {
    try {
      const checked = check(params, isVersion1(context));
      if (checked instanceof Promise) return afterCheck(checked, context, invoke);
      return checked.issues === undefined
        ? invoke(checked.value, context)
        : invalidParamsReply(checked.issues);
    } catch (thrown) {
      return caught(thrown, context);
    }
  };
}

/** Adds what the sources make to the call, one after the other. */
function withSources({ sources }: Method, run: Invoke | Run): Run {
  return async (params, context) => {
    try {
      for (const source of sources) add(await source(context), context);
    } catch (thrown) {
      return caught(thrown, context);
    }
    return endedBefore(context) ?? run(params as never, context);
  };
}

/** A member of the call that the library needs is never replaced. */
function add(members: object, context: Context): void {
  for (const [name, value] of Object.entries(members)) {
    if (name in context && !Object.hasOwn(context, name)) {
      throw new TypeError(`"${name}" is a member of every call; give it another name`);
    }
    Object.defineProperty(context, name, { value, configurable: true, enumerable: true });
  }
}

function isVersion1({ incoming }: Context): boolean {
  return incoming !== undefined && incoming.request.jsonrpc === undefined;
}

async function afterCheck(
  checking: Promise<Awaited<ReturnType<ReturnType<typeof paramsCheck>>>>,
  context: Context,
  invoke: Invoke,
): Promise<Reply> {
  try {
    const checked = await checking;
    return checked.issues === undefined
      ? (endedBefore(context) ?? (await invoke(checked.value, context)))
      : invalidParamsReply(checked.issues);
  } catch (thrown) {
    return caught(thrown, context);
  }
}

async function settle(
  result: PromiseLike<unknown>,
  context: Context,
  check: (result: unknown) => MaybePromise<Reply>,
): Promise<Reply> {
  try {
    return await check(await result);
  } catch (thrown) {
    return caught(thrown, context);
  }
}
