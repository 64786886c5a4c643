import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createRuntime } from '../../../src/agent/create-runtime.ts';
import { type TestDatabase, testDatabase } from '../../servers/shared-postgres.ts';
import type { SseClient } from './sse-client.ts';
import { serveStreams } from './stream-server.ts';

const SCRIPT = fileURLToPath(new URL('./fixtures/speaking-process.ts', import.meta.url));
const WORDS = Array.from({ length: 60 }, (_, n) => `word ${n}, „${'ü'.repeat(n % 7)}“`).join(' ');
const AGENT = `kind: Agent
name: speaker
model: scripted:./turns.yml
instructions: Speak.
`;
const TURNS = `tokens_per_second: 150
chunk: 7
turns:
  - |
    <thought>I think about it.</thought><response final="true">${WORDS}</response>
`;

let database: TestDatabase;
let schemas = 0;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.remove());

/** A server in this process, and workers in others, on one database. */
async function newFleet() {
  const folder = mkdtempSync(join(tmpdir(), 'telltale-afar-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  writeFileSync(join(folder, 'agent.yml'), AGENT);
  writeFileSync(join(folder, 'turns.yml'), TURNS);
  const store = `${database.url}?schema=afar_${++schemas}&lease=1500`;
  const runtime = await createRuntime({ store, durability: 'process', cwd: folder });
  onTestFinished(() => runtime.close());
  const server = await serveStreams({ runtime });
  onTestFinished(() => server.close());
  const work = (how: 'start' | 'resume', session: string) => {
    const child = spawn(process.execPath, [SCRIPT, how, store, join(folder, 'agent.yml'), session], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const kill = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    onTestFinished(kill);
    return { kill, ended, said: () => out };
  };
  return { runtime, server, work };
}

const types = (client: SseClient) => client.events().map(({ type }) => type);
/** What was told of the turn in hand before it is on the log: what a snapshot holds, and the deltas behind it. */
const spoken = (client: SseClient) => {
  const from = types(client).lastIndexOf('turn.started') + 1;
  return client
    .events()
    .slice(from)
    .reduce((text, event) => {
      if (event.type === 'live.snapshot') return String(event.response);
      return event.type === 'response.delta' ? text + String(event.text) : text;
    }, '');
};

describe('over PostgreSQL, a session that another process works on', () => {
  it('speaks to whoever follows from here or joins in the middle, and anew where its worker was killed', async () => {
    const { runtime, server, work } = await newFleet();
    const doomed = work('start', 'ses_1');
    await expect.poll(async () => (await runtime.store.info('ses_1'))?.head ?? 0).toBeGreaterThan(0);
    const first = await server.follow('ses_1');
    await first.until((seen) => spoken(seen) !== '');
    await doomed.kill();
    await expect.poll(async () => (await runtime.store.info('ses_1'))?.owner).toBe(undefined);
    const heir = work('resume', 'ses_1');
    await first.until((seen) => {
      const resumedAt = types(seen).indexOf('session.resumed');
      return resumedAt !== -1 && types(seen).lastIndexOf('response.delta') > resumedAt;
    });
    const second = await server.follow('ses_1');
    await second.until((seen) => types(seen).includes('live.snapshot'));
    await Promise.all([first.ended, second.ended]);
    const log = await runtime.events('ses_1');
    for (const client of [first, second]) {
      expect(client.events().filter(({ seq }) => seq !== undefined)).toEqual(log);
      expect(spoken(client)).toBe(WORDS);
      expect(types(client).lastIndexOf('response.delta')).toBeLessThan(types(client).indexOf('response'));
      expect(client.frames.at(-1)?.event).toBe('end');
    }
    expect(types(second).filter((type) => type === 'response.delta').length).toBeGreaterThan(3);
    expect(types(first).filter((type) => type === 'session.resumed')).toHaveLength(1);
    expect(server.errors).toEqual([]);
    expect(await heir.ended).toBe(0);
    expect(heir.said()).toContain('completed');
  });
});
