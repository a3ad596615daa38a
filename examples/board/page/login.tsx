import { useMutation } from "@tanstack/react-query";
import { isRpcError } from "callwire";
import { login } from "./rpc.ts";

export function Login({ onLogin }: { onLogin: (name: string) => void }) {
  const { mutate, error, isPending } = useMutation({
    mutationFn: ({ name, password }: { name: string; password: string }) => login(name, password),
    onSuccess: (_, { name }) => onLogin(name),
  });
  return (
    <form
      className="login"
      onSubmit={(event) => {
        event.preventDefault();
        const fields = new FormData(event.currentTarget);
        mutate({ name: String(fields.get("name")), password: String(fields.get("password")) });
      }}
    >
      <h1>Board</h1>
      <label>
        Name <input name="name" autoComplete="username" required />
      </label>
      <label>
        Password <input name="password" type="password" autoComplete="current-password" required />
      </label>
      <button className="main" type="submit" disabled={isPending}>
        Log in
      </button>
      {error !== null && (
        <p role="alert">
          {isRpcError(error, 1401) ? "The name or the password is wrong." : error.message}
        </p>
      )}
    </form>
  );
}
