import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, loadAgent, type Runtime, type SessionEvent } from '../../../src/index.ts';
import { startVictim } from '../../recovery/victim-process.ts';
import { type TestDatabase, testDatabase } from '../../servers/shared-postgres.ts';

const SESSION = 'ses_desk';
const BILLING = `${SESSION}.speaker.billing`;
const SIDE_BY_SIDE = 2;
const TIMEOUT_MS = 240_000;

/** Where the process kills itself: before, during and after the handoff. `nth` counts both agents' events. */
const POINTS: readonly (readonly [point: string, nth: number])[] = [
  ['committed:action.completed', 1],
  ['append:handoff.requested', 1],
  ['committed:handoff.requested', 1],
  ['committed:response', 1],
  ['append:handoff', 1],
  ['committed:handoff', 1],
  ['append:session.started', 2],
  ['committed:session.started', 2],
  ['append:child.action.completed', 1],
  ['committed:response', 2],
  ['append:child.response', 1],
  ['committed:child.response', 1],
  ['committed:session.completed', 1],
];

const NOTE = `import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
export async function run({ who }, { idempotencyKey }) {
  appendFileSync(join(import.meta.dirname, 'journal'), who + ' ' + idempotencyKey + '\\n');
  return 'noted';
}
`;
const note = (who: string) =>
  `<action mode="sync" id="n">{"name": "note", "parameters": {"who": "${who}"}}</action>`;
const FILES: Readonly<Record<string, string>> = {
  'note.mjs': NOTE,
  'note.yml': `kind: Tool
name: note
parameters: { type: object, properties: { who: { type: string } }, required: [who] }
implementation: { module: ./note.mjs }
`,
  'agent.yml': `kind: Agent
name: triage
model: scripted:./triage.yml
handoff: [billing]
import: { agents: [./billing.yml], tools: [./note.yml] }
`,
  'triage.yml': `turns:
  - '${note('triage')}'
  - '<action id="h">{"name": "handoff", "parameters": {"to": "billing"}}</action><response final="true">One moment.</response>'
`,
  'billing.yml': `kind: Agent
name: billing
model: scripted:./billing.turns.yml
import: { tools: [./note.yml] }
`,
  'billing.turns.yml': `turns:
  - '${note('billing')}'
  - '<response final="true">You owe nothing.</response>'
`,
};

function makeDesk() {
  const folder = mkdtempSync(join(tmpdir(), 'telltale-desk-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const journal = () =>
    existsSync(join(folder, 'journal'))
      ? readFileSync(join(folder, 'journal'), 'utf8').trim().split('\n')
      : [];
  return { folder, journal };
}

const answersOf = (events: readonly SessionEvent[]) =>
  events.flatMap((event) => {
    if (event.type === 'response' && event.final) return [`triage: ${event.text}`];
    return event.type === 'child.response' && event.event.final
      ? [`${event.action}: ${event.event.text}`]
      : [];
  });

/** Nobody has the streams any more that a killed process had. */
async function released(runtime: Runtime) {
  for (const id of [SESSION, BILLING])
    await expect.poll(async () => (await runtime.store.info(id))?.owner, { timeout: 20_000 }).toBeUndefined();
}

/** What is wrong after a kill at this point and a resume, if anything is. */
async function survives(storeOf: () => string, [point, nth]: readonly [string, number]) {
  const { folder, journal } = makeDesk();
  const store = storeOf();
  const { killed } = await startVictim({ folder, store, session: SESSION, crashAt: { point, nth } }).life;
  if (!killed) return `${point}, time ${nth}: it was not passed`;
  const runtime = await createRuntime({ store, durability: 'process', cwd: folder });
  try {
    await released(runtime);
    const left = await runtime.state(SESSION);
    const agent = await loadAgent('agent.yml', { cwd: folder });
    if (left.status === 'running') await (await runtime.resume(SESSION, { agent })).result;
    const events = await runtime.events(SESSION);
    const member = await runtime.events(BILLING);
    const counts = (type: string, log = events) => log.filter((event) => event.type === type).length;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    expect(events.at(-1)).toMatchObject({ type: 'session.completed', result: 'You owe nothing.' });
    expect(counts('handoff')).toBe(1);
    expect(answersOf(events)).toEqual(['triage: One moment.', 'speaker:billing: You owe nothing.']);
    expect([counts('session.started', member), counts('session.completed', member)]).toEqual([1, 1]);
    expect(counts('message.received', member)).toBe(0);
    expect(journal()).toEqual([`triage ${SESSION}:n`, `billing ${BILLING}:n`]);
    return undefined;
  } catch (thrown) {
    return `${point}, time ${nth}: ${(thrown as Error).message}`;
  } finally {
    await runtime.close();
    rmSync(folder, { recursive: true });
  }
}

async function surviveAll(storeOf: () => string): Promise<readonly string[]> {
  const left = [...POINTS];
  const wrong: string[] = [];
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const why = await survives(storeOf, next);
      if (why !== undefined) wrong.push(why);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
  return wrong;
}

describe('kill -9 before, during and after a handoff', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.remove());

  it(
    'is survived on SQLite: the conversation moves once, and each agent answers and acts once',
    async () => {
      expect(await surviveAll(() => 'sqlite:store.db')).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'is survived on PostgreSQL: the conversation moves once, and each agent answers and acts once',
    async () => {
      let schemas = 0;
      expect(await surviveAll(() => `${database.url}?schema=desk_${++schemas}&lease=1500`)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
