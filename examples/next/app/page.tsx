import { revalidatePath } from "next/cache";
import Link from "next/link";
import { visitor } from "../board.ts";

// Rendered for each request, because tasks change.
export const dynamic = "force-dynamic";

async function add(form: FormData): Promise<void> {
  "use server";
  await visitor().tasks.create({ title: String(form.get("title")) });
  revalidatePath("/");
}

/** A React Server Component: its calls stay in the process, and none of its code reaches the browser. */
export default async function Page() {
  const tasks = await visitor().tasks.list();
  return (
    <main>
      <header>
        <h1>Tasks</h1>
        <Link href="/live">Live</Link>
      </header>
      <form action={add}>
        <input name="title" aria-label="New task" required />
        <button className="main" type="submit">
          Add
        </button>
      </form>
      <ul>
        {tasks.map(({ id, title, done, by }) => (
          <li key={id} className={done ? "done" : ""}>
            <span>
              {title} <small>{by}</small>
            </span>
          </li>
        ))}
      </ul>
    </main>
  );
}
