import { chmodSync, lstatSync, mkdtempSync, renameSync, rmSync, type Stats } from "node:fs";
import { connect, type Server } from "node:net";
import { dirname, join, sep } from "node:path";

/**
 * Listens on a path. Only this user can open the socket, from the moment it exists: it is created in a private
 * folder, and moved after its mode is set. A stale socket is replaced; one that is served is not.
 */
export class UnixPath {
  readonly path: string;
  #own: Stats | undefined;

  constructor(path: string) {
    this.path = path;
  }

  async listen(server: Server): Promise<void> {
    const before = found(this.path);
    if (before !== undefined) await this.#mustBeStale(before);
    const folder = hiddenFolderIn(dirname(this.path));
    try {
      const socket = join(folder, "s");
      await listening(server, socket);
      chmodSync(socket, 0o600);
      // Two servers may start at the same time.
      const now = found(this.path);
      if (now !== undefined && now.ino !== before?.ino) throw inUse(this.path);
      this.#own = lstatSync(socket);
      renameSync(socket, this.path);
    } catch (error) {
      server.close();
      throw error;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Removes the socket, unless a later server has replaced it. */
  remove(): void {
    if (this.#own !== undefined && found(this.path)?.ino === this.#own.ino) {
      rmSync(this.path, { force: true });
    }
  }

  async #mustBeStale(stats: Stats): Promise<void> {
    if (!stats.isSocket()) throw inUse(this.path, "a file that is not a socket exists there");
    if (await answers(this.path)) throw inUse(this.path, "another server listens there");
  }
}

/** Within the folder, because siblings may belong to other users, and be on another file system. */
function hiddenFolderIn(folder: string): string {
  try {
    return mkdtempSync(`${folder}${sep}.`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const missing = new Error(`ENOENT: the folder ${folder} does not exist`, { cause: error });
    throw Object.assign(missing, { code: "ENOENT" });
  }
}

function found(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" || error.code === "ENOENT") resolve(false);
      // A full backlog: a server is there, and busy.
      else if (error.code === "EAGAIN") resolve(true);
      else reject(error);
    });
  });
}

export function listening(
  server: Server,
  where: string | { port: number; host: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function inUse(path: string, reason = "another server listens there"): Error {
  return Object.assign(new Error(`cannot listen on ${path}: ${reason}`), { code: "EADDRINUSE" });
}
