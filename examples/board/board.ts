/** The server of the board, without a wire: express.ts, fastify.ts and hono.ts mount it, and so does ../next. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createServer, implement, RpcError, topic, withContext } from "callwire";
import {
  type AuditSink,
  bearer,
  equalSecrets,
  secureDefaults,
  WebSocketTickets,
} from "callwire/security";
import { jwt } from "callwire/security/jwt";
import { SignJWT } from "jose";
import { contract, type Task } from "./contract.ts";
import { TaskStore } from "./store.ts";

export interface BoardOptions {
  /** Path of the database. @default ":memory:" */
  readonly file?: string;
  /** What tokens are signed with, at least 32 bytes. */
  readonly secret: string;
  /** Passwords by name. A real application stores hashes. */
  readonly passwords: Readonly<Record<string, string>>;
  /** Takes the lines of the audit log. @default standard error */
  readonly audit?: AuditSink;
}

const issuer = "board";
const audience = "board";

/** What `tasks.changes` sends. */
interface Change {
  readonly kind: "created" | "updated" | "removed";
  readonly task: Task;
}

export function createBoard({ file = ":memory:", secret, passwords, audit }: BoardOptions) {
  const store = new TaskStore(file);
  const changes = topic<Change>();
  const tickets = new WebSocketTickets();
  const key = new TextEncoder().encode(secret);

  const member = withContext((call) => {
    if (call.principal === undefined) throw new RpcError(-32001, "Log in first");
    return { user: { name: call.principal.id } };
  });

  function save(kind: Change["kind"], task: Task): Task {
    if (kind === "removed") store.remove(task.id);
    else store.save(task);
    changes.publish({ kind, task });
    return task;
  }

  const methods = {
    session: implement(contract.session, {
      async login({ name, password }, _call, errors) {
        const expected = Object.hasOwn(passwords, name) ? passwords[name] : undefined;
        if (expected === undefined || !equalSecrets(password, expected)) {
          throw errors.WRONG_PASSWORD();
        }
        const token = new SignJWT().setProtectedHeader({ alg: "HS256" }).setSubject(name);
        token.setIssuer(issuer).setAudience(audience).setIssuedAt().setExpirationTime("1h");
        return { token: await token.sign(key) };
      },
      ticket: (_params, call) => tickets.issue(call),
    }),
    tasks: member.implement(contract.tasks, {
      list: () => store.list(),
      create: ({ title }, { user }) =>
        save("created", {
          id: randomUUID(),
          title,
          done: false,
          by: user.name,
          attachment: null,
        }),
      update({ id, title, done }, { user }, errors) {
        const task = store.find(id);
        if (task === undefined) throw errors.NOT_FOUND({ id });
        return save("updated", {
          ...task,
          title: title ?? task.title,
          done: done ?? task.done,
          by: user.name,
        });
      },
      remove({ id }, _call, errors) {
        const task = store.find(id);
        if (task === undefined) throw errors.NOT_FOUND({ id });
        return save("removed", task);
      },
      async attach({ id, file }, { user }, errors) {
        if (store.find(id) === undefined) throw errors.NOT_FOUND({ id });
        const bytes = new Uint8Array(await file.arrayBuffer());
        // The task may have changed, or be gone, since the file began to arrive.
        const task = store.find(id);
        if (task === undefined) throw errors.NOT_FOUND({ id });
        const { name, type } = file;
        store.attach(id, { name, type, bytes });
        return save("updated", { ...task, by: user.name, attachment: name });
      },
      attachment({ id }, _call, errors) {
        const found = store.attachment(id);
        if (found === undefined) throw errors.NOT_FOUND({ id });
        return new File([found.bytes], found.name, { type: found.type });
      },
      async *changes(_params, call) {
        const all = changes.subscribe(call);
        yield { kind: "subscribed" };
        yield* all;
      },
    }),
    ...member.implement(
      { report: contract.report },
      {
        async report(_params, { signal, progress }) {
          const tasks = store.list();
          const people = new Map<string, { name: string; open: number; done: number }>();
          for (const [i, { by, done }] of tasks.entries()) {
            const person = people.get(by) ?? { name: by, open: 0, done: 0 };
            people.set(by, person);
            if (done) person.done++;
            else person.open++;
            progress({ checked: i + 1, of: tasks.length });
            await pause(200, undefined, { signal });
          }
          return [...people.values()];
        },
      },
    ),
  };

  const server = createServer(
    methods,
    secureDefaults({
      credentials: [bearer(jwt({ issuer, audience, secret })), tickets],
      anonymous: ["session/login"],
      ...(audit === undefined ? undefined : { audit }),
    }),
  );
  return {
    server,
    async close(): Promise<void> {
      await server.close();
      store.close();
    },
  };
}

export type Board = ReturnType<typeof createBoard>;
