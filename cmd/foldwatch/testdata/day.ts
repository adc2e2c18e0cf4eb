// An agent's day with foldwatch, by the TypeScript SDK: it says on stdout what
// it has done, asks there for the daemon to be stopped, and ends with "done".
import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const client = new Client({ name: "day", version: "1" });
const told: string[] = [];
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => {
	told.push(n.params.uri);
});
const environment = process.env as Record<string, string>;
await client.connect(new StdioClientTransport({ command: "foldwatch", args: ["mcp"], env: environment, stderr: "inherit" }));

async function ask(name: string, args: object): Promise<any> {
	return await client.callTool({ name, arguments: { ...args } });
}

// The client checks each result against the tool's output schema, once it has
// listed the tools.
async function use(name: string, args: object): Promise<any> {
	const result = await ask(name, args);
	assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
	return result.structuredContent;
}

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
	for (const late = Date.now() + 60_000; !(await done()); await pause(200)) {
		assert.ok(Date.now() < late, what);
	}
}

const tools = (await client.listTools()).tools;
assert.equal(tools.length, 14);
const prompt = await client.getPrompt({ name: "orient" });
assert.match(JSON.stringify(prompt.messages), /the project app/);
console.log("oriented");

await until("the source is found", async () => {
	const found = await use("codebase_search", { query: "Login password" });
	return found.results.some((r: any) => r.metadata.file_path === "login.go");
});
const first = await use("memory_add", { title: "Session lifetime", content: "Sessions live 7 days: the quokka team asked for it.", type: "decision" });
await until("the memory is found", async () => {
	const found = await use("memory_search", { query: "quokka sessions", limit: "5" });
	return found.results[0]?.id === first.id;
});
const read = await use("memory_get", { id: first.id });
assert.match(read.memory.content, /Sessions live 7 days/);
const second = await use("memory_add", { content: "The lifetime is a constant of package app." });
await use("memory_link_add", { source_id: second.id, target_id: first.id, link_type: "depends_on" });
console.log("searched, read, added, linked");

const now = await use("memory_update", { id: first.id, append: "Ada agreed.", expected_hash: first.content_hash });
const stale = await ask("memory_update", { id: first.id, content: "Sessions live an hour.", expected_hash: first.content_hash });
assert.equal(stale.isError, true);
for (const want of ["Ada agreed.", "Sessions live an hour.", now.content_hash]) {
	assert.ok(stale.content[0].text.includes(want), `a stale update lacks ${want}: ${stale.content[0].text}`);
}
console.log("was refused with both versions");

const uri = `fold://app/memory/${first.id}`;
await client.subscribeResource({ uri });
async function seeUpdate(when: string): Promise<void> {
	told.length = 0;
	await until(`an update is told ${when}`, async () => {
		await use("memory_update", { id: first.id, append: `Noted ${when}.` });
		await pause(300);
		return told.includes(uri);
	});
	console.log(`saw the update ${when}`);
}
await seeUpdate("before the restart");
const answer = once(createInterface({ input: process.stdin }), "line");
console.log("stop the daemon");
assert.deepEqual(await answer, ["stopped"]);
await seeUpdate("after the restart");
const left = await use("memory_get", { id: first.id });
assert.equal(left.memory.backlinks[0].source_id, second.id);
await client.close();
console.log("done");
process.exit(0);
