import { createRoot } from "react-dom/client";
import { Photo } from "./photo.tsx";
import { Thumbnail } from "./short.tsx";

const root = createRoot(document.getElementById("root") as HTMLElement);
root.render(location.pathname === "/short" ? <Thumbnail /> : <Photo />);
