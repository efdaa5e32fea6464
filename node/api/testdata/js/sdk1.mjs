// The TypeScript SDK 1.x.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { bearer, child, job, report } from "./clients.mjs";

const given = await job();
const client = new Client({ name: "sdk1", version: "1" });
let version;
if (given.url) {
  const transport = new StreamableHTTPClientTransport(new URL(given.url), bearer(given));
  await client.connect(transport);
  version = transport.protocolVersion;
} else {
  await client.connect(new StdioClientTransport(child(given)));
}
await report(client, version, given.calls);
