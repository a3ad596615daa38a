import { program } from "../start-up-program.mjs";

export default () => ({
  ...program(`
    import { connect } from "node:net";
    import { createServer } from "callwire";
    import { serveHttp } from "callwire/http/node";
    const { port } = await serveHttp(createServer({ add: (a, b) => a + b }), { port: 0 });
    const body = '{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}';
    const socket = connect(port, "127.0.0.1");
    socket.write("POST /rpc HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n");
    socket.write("Content-Length: " + body.length + "\\r\\n\\r\\n" + body);
    socket.once("data", (reply) => {
      console.log(String(reply));
      process.exit();
    });
  `),
  expected: '"result":5',
});
