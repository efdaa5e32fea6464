// The TypeScript client 2.x: the old protocol, or the one it is pinned to.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { bearer, child, job, report } from "./clients.mjs";

const given = await job();
const mode = given.version ? { pin: given.version } : "legacy";
const client = new Client({ name: "client2", version: "1" }, { versionNegotiation: { mode } });
await client.connect(given.url ? new StreamableHTTPClientTransport(new URL(given.url), bearer(given)) : new StdioClientTransport(child(given)));
await report(client, client.getNegotiatedProtocolVersion(), given.calls);
