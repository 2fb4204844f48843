// The TypeScript SDKs as clients that a test sends on errands: a line of JSON in is a request, a line of JSON out is what came
// of it. `node errands.mjs '{"sdk": "v1" | "v2", "era": "modern", "url": ..., "token": ...}' PACKAGES`, or with "command" and
// "environment" instead of a URL.
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";

const to = JSON.parse(process.argv[2]);
const load = createRequire(path.join(process.argv[3], "package.json"));

function library() {
  if (to.sdk === "v2") {
    const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
    const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
    return {
      Client,
      StreamableHTTPClientTransport,
      StdioClientTransport,
      elicitation: "elicitation/create",
      call: (client, params, options) => client.callTool(params, options),
    };
  }
  const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
  const { ElicitRequestSchema } = load("@modelcontextprotocol/sdk/types.js");
  return {
    Client,
    StreamableHTTPClientTransport,
    StdioClientTransport,
    elicitation: ElicitRequestSchema,
    call: (client, params, options) => client.callTool(params, undefined, options),
  };
}

const { Client, StreamableHTTPClientTransport, StdioClientTransport, elicitation, call } = library();
const mode = to.era === "modern" ? { pin: "2026-07-28" } : "legacy";
const client = new Client(
  { name: "errands", version: "1.0.0" },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
);
client.setRequestHandler(elicitation, async () => ({ action: "accept", content: { agreed: true } }));

function transport() {
  if (to.command) {
    const [command, ...args] = to.command;
    return new StdioClientTransport({ command, args, env: to.environment });
  }
  return new StreamableHTTPClientTransport(new URL(to.url), {
    requestInit: { headers: { Authorization: `Bearer ${to.token}` } },
  });
}

let revision;
const way = transport();
// The older library tells it to the transport alone.
const tell = way.setProtocolVersion?.bind(way);
way.setProtocolVersion = (version) => {
  revision = version;
  tell?.(version);
};

async function run(errand) {
  switch (errand.do) {
    case "connect":
      return {
        revision: client.getNegotiatedProtocolVersion?.() ?? revision,
        capabilities: client.getServerCapabilities(),
      };
    case "tools":
      return { tools: (await client.listTools()).tools.map((tool) => tool.name) };
    case "call": {
      const progress = [];
      const options = errand.progress ? { onprogress: (heard) => progress.push(heard) } : {};
      const params = { name: errand.name, arguments: errand.arguments };
      return { ...(await call(client, params, options)), progress };
    }
    case "read":
      return await client.readResource({ uri: errand.uri });
  }
}

await client.connect(way);
for await (const line of readline.createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { ok: await run(JSON.parse(line)) };
  } catch (error) {
    answer = { error: { code: error.code, message: error.message, data: error.data } };
  }
  console.log(JSON.stringify(answer));
}
await client.close();
