import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { Board } from "./board.tsx";
import { Login } from "./login.tsx";

const queries = new QueryClient();

function Page() {
  const [name, setName] = useState<string>();
  return (
    <QueryClientProvider client={queries}>
      <main>{name === undefined ? <Login onLogin={setName} /> : <Board name={name} />}</main>
    </QueryClientProvider>
  );
}

const app = document.getElementById("app");
if (app !== null) {
  createRoot(app).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
}
