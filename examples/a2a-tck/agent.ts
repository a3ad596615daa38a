/** The agent that the A2A compatibility kit drives: the prefix of the message id says what it is to do. */
import {
  type A2aAgent,
  type A2aAgentOptions,
  type AgentUpdate,
  a2aAgent,
  type Execute,
} from "callwire/a2a";

/** Waits as long as others may need to subscribe, or a part of that. */
type Pause = (part?: number) => Promise<void>;

type Steps = (pause: Pause) => AsyncGenerator<AgentUpdate> | Generator<AgentUpdate>;

const text = { artifact: { parts: "Generated text content" } };
const file = {
  artifact: {
    parts: [
      { raw: btoa("Generated file content"), filename: "output.txt", mediaType: "text/plain" },
    ],
  },
};
const done: AgentUpdate = { state: "completed", message: "Hello from TCK" };

/** Longer prefixes come first. */
const behaviours: readonly (readonly [prefix: string, steps: Steps])[] = [
  ["tck-stream-artifact-text", () => worked([text])],
  ["tck-stream-artifact-file", () => worked([file])],
  [
    "tck-stream-artifact-chunked",
    () =>
      worked([
        { artifact: { artifactId: "chunked", parts: "first chunk " } },
        {
          artifact: { artifactId: "chunked", parts: "second chunk" },
          append: true,
          lastChunk: true,
        },
      ]),
  ],
  ["tck-stream-ordering", () => worked([text])],
  ["tck-stream-001", () => worked([text])],
  ["tck-stream-003", () => worked([text])],
  ["tck-stream-002", () => steps(done)],
  [
    "tck-artifact-file-url",
    () =>
      steps(
        {
          artifact: {
            parts: [
              {
                url: "https://example.com/output.txt",
                filename: "output.txt",
                mediaType: "text/plain",
              },
            ],
          },
        },
        done,
      ),
  ],
  ["tck-artifact-file", () => steps(file, done)],
  ["tck-artifact-text", () => steps(text, done)],
  [
    "tck-artifact-data",
    () => steps({ artifact: { parts: [{ data: { key: "value", count: 42 } }] } }, done),
  ],
  ["tck-message-response", () => steps({ message: "Direct message response" })],
  [
    "tck-input-required",
    () => steps({ state: "input-required", message: "Please provide more input" }),
  ],
  ["tck-auth-required", () => steps({ state: "auth-required", message: "Please log in" })],
  [
    "tck-delayed-complete",
    async function* (pause) {
      yield { state: "working" };
      await pause(0.5);
      yield { state: "completed", message: "Done after delay" };
    },
  ],
  ["tck-reject-task", () => steps({ state: "rejected", message: "The task was rejected" })],
  [
    "test-resubscribe",
    async function* (pause) {
      yield { state: "working" };
      await pause();
      yield done;
    },
  ],
];

function* steps(...updates: AgentUpdate[]): Generator<AgentUpdate> {
  yield* updates;
}

function* worked(updates: AgentUpdate[]): Generator<AgentUpdate> {
  yield { state: "working" };
  yield* updates;
  yield done;
}

/** `pauseMs` is how long a task works that others subscribe to. */
export function tckExecute(pauseMs: number): Execute {
  return async function* ({ messageId }, { signal }) {
    const pause: Pause = (part = 1) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, part * pauseMs);
        signal.addEventListener("abort", () => {
          clearTimeout(timer);
          resolve();
        });
      });
    const found = behaviours.find(([prefix]) => messageId.startsWith(prefix));
    yield* found === undefined ? steps(done) : found[1](pause);
  };
}

export function tckAgent(options: Partial<A2aAgentOptions> = {}, pauseMs = 4_000): A2aAgent {
  return a2aAgent({
    card: {
      name: "TCK agent",
      description: "Does what the compatibility kit asks for",
      version: "1.0.0",
      defaultInputModes: ["text/plain", "application/json"],
      skills: [{ id: "tck", name: "TCK", description: "Answers the kit", tags: ["tck"] }],
    },
    execute: tckExecute(pauseMs),
    ...options,
  });
}
