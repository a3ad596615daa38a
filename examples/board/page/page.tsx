import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { Board } from "./board.tsx";
import { Login } from "./login.tsx";

const queries = new QueryClient();

export function Page() {
  const [name, setName] = useState<string>();
  return (
    <QueryClientProvider client={queries}>
      <main>{name === undefined ? <Login onLogin={setName} /> : <Board name={name} />}</main>
    </QueryClientProvider>
  );
}
