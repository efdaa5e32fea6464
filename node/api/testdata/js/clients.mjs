// What both generations of the TypeScript SDK do in the tests: one job is read
// from standard input, its outcome is written to standard output, both as JSON.
// The job: url and key, or command and environment of a server over stdio;
// version, the newest of the protocol where it is given; calls, in order.
export async function job() {
  let text = "";
  for await (const part of process.stdin) text += part;
  return JSON.parse(text);
}

export const bearer = (job) => ({ requestInit: { headers: { Authorization: `Bearer ${job.key}` } } });

export const child = (job) => ({ command: job.command[0], args: job.command.slice(1), env: job.environment, stderr: "pipe" });

// Both clients hold structuredContent to the output schemas that they have listed.
export async function report(client, version, calls) {
  const tools = (await client.listTools()).tools;
  const resources = (await client.listResources()).resources;
  const prompts = (await client.listPrompts()).prompts;
  const answers = [];
  for (const call of calls) {
    try {
      const { isError, structuredContent, content } = await client.callTool(call);
      answers.push({ isError: isError === true, structuredContent, content });
    } catch (error) {
      answers.push({ thrown: String(error) });
    }
  }
  console.log(JSON.stringify({
    version, server: client.getServerVersion()?.name, instructions: client.getInstructions(), answers,
    tools: tools.map((t) => t.name), resources: resources.length, prompts: prompts.map((p) => p.name),
  }));
  await client.close();
}
