import type { ConformanceCase } from "../case.ts";
import {
  ask,
  error,
  hygiene,
  must,
  notFound,
  request,
  settled,
  should,
  writerOf,
} from "../case-builders.ts";

const write = writerOf("errors");

const form = must(
  "JSON-RPC 2.0, 5 and 5.1",
  "An error is an object with an integer code and a message that is a string; the response has no result.",
);
const hidden = hygiene(
  "Internals of a server (stack traces, paths, messages of exceptions) must not reach its clients.",
);

/** Patterns that no answer should match. */
const stackTrace = {
  "a stack trace": "\\\\n\\s+at |Traceback \\(most recent|goroutine \\d+ \\[",
  "a path of the server's files": "node_modules|[\\w-]+\\.(?:js|ts|mjs|cjs|py|go|rb|java):\\d+",
};

export const errorCases: readonly ConformanceCase[] = [
  write("form", "An error has a code and a message", form, [
    ask(request({ id: 1 }), error(notFound, "1")),
  ]),
  write("failure", "A method that fails is answered with an error", form, [
    ask(request({ method: "<fail>", params: ["conformance"], id: 1 }), {
      kind: "reply",
      reply: { ids: ["1"], codes: "any" },
    }),
  ]),
  write(
    "failure-code",
    "A method that fails by accident gives -32603 or a server error",
    should(
      "JSON-RPC 2.0, 5.1",
      "-32603 is the internal error; -32000 to -32099 are for errors of the server. The rest below -32000 is reserved.",
    ),
    [
      ask(
        request({ method: "<fail>", params: ["conformance"], id: 1 }),
        error([-32603, ...Array.from({ length: 100 }, (_, i) => -32000 - i)], "1"),
      ),
    ],
  ),
  write("failure-text", "The message of an exception is not sent", hidden, {
    ...ask(request({ method: "<fail>", params: ["conformance-secret-4711"], id: 1 }), {
      kind: "reply",
      reply: { ids: ["1"], codes: "any" },
    }),
    hides: { "the text of the exception": "conformance-secret-4711", ...stackTrace },
  }),
  write("no-stack", "Errors contain no stack trace", hidden, [
    { ...ask("{", settled), hides: stackTrace },
    { ...ask(request({ method: 1, id: 1 }), settled), hides: stackTrace },
    { ...ask(request({ id: 1 }), settled), hides: stackTrace },
  ]),
];
