import jayson from "jayson";

export default () => {
  const server = new jayson.Server({
    add: ([a, b], done) => done(null, a + b),
    echo: ([message], done) => done(null, message),
  });
  return (text) => {
    let reply;
    // jayson answers before it returns when the methods do.
    server.call(text, (error, response) => {
      reply = JSON.stringify(error ?? response);
    });
    return reply;
  };
};
