// One session that reads an answer from a provider: `follow-deltas.ts URL DIALECT MODEL`. Its last line is JSON.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a session took while its answer streamed in. */
export interface DeltaMemory {
  readonly characters: number;
  readonly seconds: number;
  /** The most that was in use after a garbage collection, and the most that the process had. */
  readonly liveMb: number;
  readonly rssMb: number;
}

const [url = '', dialect = 'tags', model = ''] = process.argv.slice(2);
const { createRuntime, defineAgent } = (await import(
  import.meta.resolve('telltale')
)) as typeof import('../../telltale/src/index.ts');
const folder = mkdtempSync(join(tmpdir(), 'telltale-bench-deltas-'));
const env = { OPENAI_COMPATIBLE_BASE_URL: url };
const runtime = await createRuntime({ store: `sqlite:${join(folder, 'log.db')}`, cwd: folder, env });
const agent = await defineAgent({
  name: 'speaker',
  instructions: 'Answer.',
  dialect: dialect as 'tags' | 'tools',
  model: `openai-compatible/${model}`,
});
let [live, rss] = [0, 0];
const look = () => {
  rss = Math.max(rss, process.memoryUsage.rss());
  globalThis.gc?.();
  live = Math.max(live, process.memoryUsage().heapUsed);
};
const timer = setInterval(look, 250);
const started = performance.now();
const { status, result, error } = await runtime.start(agent, { input: 'Tell me all.' }).result;
clearInterval(timer);
look();
const seconds = (performance.now() - started) / 1000;
await runtime.close();
rmSync(folder, { recursive: true, force: true });
if (status !== 'completed') throw new Error(`The session ended as ${status}: ${error?.message}`);
const toMb = (bytes: number) => bytes / 2 ** 20;
const memory: DeltaMemory = {
  characters: String(result).length,
  seconds,
  liveMb: toMb(live),
  rssMb: toMb(rss),
};
console.log(JSON.stringify(memory));
