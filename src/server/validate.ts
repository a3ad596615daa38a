import { ErrorCode } from "../protocol/errors.ts";
import {
  failure,
  type MaybePromise,
  type Params,
  type Reply,
  success,
} from "../protocol/message.ts";
import type { Schema, ValidationIssue, ValidationResult } from "../protocol/standard-schema.ts";
import { type Shape, shapeOf } from "./positional.ts";

export type Checked = ValidationResult<unknown>;
type Validate = Schema["~standard"]["validate"];

/** Converts params to the form of the schema and validates them; synchronous if the schema is. */
export function paramsCheck(
  schema: Schema,
  positional: readonly string[] | undefined,
): (params: Params | undefined, isVersion1?: boolean) => Checked | Promise<Checked> {
  const shape = shapeOf(schema, positional);
  const { validate } = schema["~standard"];
  return (params, isVersion1 = false) => {
    if (params === undefined || params === null) {
      const empty = shape.form === "positional" ? [] : {};
      const checked = validate(empty);
      return checked instanceof Promise
        ? checked.then((late) => orNothing(late, validate))
        : orNothing(checked, validate);
    }
    if (shape.form === "positional" && isNamed(params)) {
      const alone = validate([params]);
      return alone instanceof Promise ? alone.then(orNoPosition) : orNoPosition(alone);
    }
    const input = intoShape(params, shape);
    const checked =
      input instanceof ParamsFault ? { issues: [{ message: input.sentence }] } : validate(input);
    const lone = isVersion1 ? loneObject(params, shape) : undefined;
    if (lone === undefined) return checked;
    return checked instanceof Promise
      ? checked.then((late) => (late.issues === undefined ? late : validate(lone)))
      : checked.issues === undefined
        ? checked
        : validate(lone);
  };
}

/**
 * In 1.0 params are an array, so clients such as Go's send an object of named params as its only element. Undefined
 * unless the object has the name of a param.
 */
function loneObject(params: Params, shape: Shape): object | undefined {
  if (shape.form !== "named" || !Array.isArray(params) || params.length !== 1) return undefined;
  const [only] = params;
  if (typeof only !== "object" || only === null || Array.isArray(only)) return undefined;
  const { names } = shape;
  return names === undefined || names.some((name) => Object.hasOwn(only, name)) ? only : undefined;
}

function isNamed(params: Params): boolean {
  return typeof params === "object" && !Array.isArray(params);
}

const byPositionOnly = "this method takes positional params only";

/**
 * A single object is sent by name, even if a typed caller passed it as the first position. If only its members are
 * wrong, it was that.
 */
function orNoPosition(alone: Checked): Checked {
  if (alone.issues === undefined || alone.issues.every(isInside)) return alone;
  return { issues: [{ message: byPositionOnly }] };
}

function isInside({ path = [] }: ValidationIssue): boolean {
  return path.length > 1;
}

/** Validates empty params as none, unless they are invalid and the schema accepts undefined. */
function orNothing(empty: Checked, validate: Validate): Checked | Promise<Checked> {
  if (empty.issues === undefined) return empty;
  const better = (nothing: Checked): Checked => (nothing.issues === undefined ? nothing : empty);
  try {
    const nothing = validate(undefined);
    return nothing instanceof Promise ? nothing.then(better, () => empty) : better(nothing);
  } catch {
    // A refinement that accesses members of undefined.
    return empty;
  }
}

class ParamsFault {
  readonly sentence: string;
  constructor(sentence: string) {
    this.sentence = sentence;
  }
}

function intoShape(params: Params, shape: Shape): unknown {
  if (shape.form === "positional") {
    return Array.isArray(params) ? params : new ParamsFault(byPositionOnly);
  }
  if (!Array.isArray(params) || shape.form === "either") return params;
  const { names } = shape;
  if (names === undefined) return new ParamsFault("this method takes named params only");
  if (params.length > names.length) {
    return new ParamsFault(
      `this method takes at most ${names.length} params, not ${params.length}`,
    );
  }
  const named: Record<string, unknown> = {};
  for (let i = 0; i < params.length; i++) named[names[i] as string] = params[i];
  return named;
}

/** More are not useful; an array of 1 MiB with a fault in each element would make a reply of 90 MiB. */
const mostIssues = 20;

/** Path and message of each issue; the issues of some libraries also hold the whole value. */
export function reportedIssues(issues: readonly ValidationIssue[]): ReportedIssue[] {
  const found = issues
    .slice(0, mostIssues)
    .map((issue) => ({ path: pathOf(issue), message: issue.message }));
  if (issues.length > mostIssues) {
    found.push({ path: [], message: `${issues.length - mostIssues} more issues` });
  }
  return found;
}

interface ReportedIssue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Replies with what is wrong and where, so that a person can act on it. */
export function invalidParamsReply(issues: readonly ValidationIssue[]): Reply {
  const found = reportedIssues(issues);
  const details = found
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`))
    .join("; ");
  return failure({
    code: ErrorCode.InvalidParams,
    message: "Invalid params",
    data: { details, issues: found },
  });
}

function pathOf(issue: ValidationIssue): (string | number)[] {
  return (issue.path ?? []).map((segment) => {
    const key = typeof segment === "object" ? segment.key : segment;
    return typeof key === "symbol" ? String(key) : key;
  });
}

/** Validates a result; an invalid one is a fault of the server, and is thrown. */
export function resultCheck(schema: Schema): (result: unknown) => MaybePromise<Reply> {
  const { validate } = schema["~standard"];
  return (result) => {
    const checked = validate(result);
    return checked instanceof Promise ? checked.then(replyOf) : replyOf(checked);
  };
}

function replyOf(checked: ValidationResult<unknown>): Reply {
  return success(checkedValue(checked, "result"));
}

export function checkedValue(checked: ValidationResult<unknown>, what: string): unknown {
  if (checked.issues !== undefined) {
    throw new TypeError(`the ${what} does not match the schema of its method`, {
      cause: reportedIssues(checked.issues),
    });
  }
  return checked.value;
}
