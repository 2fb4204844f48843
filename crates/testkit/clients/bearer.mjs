// A loopback proxy that adds a bearer token to every request: the conformance suite has no way to send one. Everything else,
// Host and Origin too, passes as it came. `node bearer.mjs UPSTREAM-PORT` reads the token from BEARER and prints its own port.
import http from "node:http";

const upstream = Number(process.argv[2]);
const token = process.env.BEARER;

const server = http.createServer((request, response) => {
  const headers = [...request.rawHeaders, "Authorization", `Bearer ${token}`];
  const onward = http.request({
    host: "127.0.0.1",
    port: upstream,
    method: request.method,
    path: request.url,
    headers,
    setHost: false,
    agent: false,
  });
  onward.on("response", (answer) => {
    response.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders);
    response.flushHeaders();
    answer.pipe(response);
    answer.on("error", () => response.destroy());
  });
  onward.on("error", () => response.destroy());
  // A client that leaves is noticed behind the proxy.
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
// Whoever started this holds the other end.
process.stdin.on("end", () => process.exit(0)).resume();
