import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { hear, scripted } from '../../src/testing/scripted.ts';
import { agentFolder, tool } from '../agent/run-agent.ts';
import { eventually } from '../store/eventually.ts';

const IMPORTS = 'import: { tools: [./tools/*.yml] }\n';

/** Says that it began, and then hangs. */
const charge = (extra: string) =>
  tool(
    'charge',
    `const { appendFileSync } = await import('node:fs');
     appendFileSync(new URL('../effects.txt', import.meta.url), 'x');
     await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(new Error('stopped'))));`,
    extra,
  );

/** A session that is stopped while its tool runs, and goes on with another definition of its agent. */
async function resumed(extra: string, change: (folder: string) => void) {
  const folder = agentFolder(IMPORTS, {
    ...charge(extra),
    ...tool('note', 'return 1;'),
  });
  const runtime = await createRuntime({ store: 'memory', cwd: folder });
  try {
    const turns = [
      '<action id="a1" mode="sync">{"name":"charge","parameters":{}}</action>\n',
      '<response>Done.</response>',
      '<response>Done.</response>',
    ];
    const model = hear(scripted(turns, { id: 'scripted:test' }));
    const session = runtime.start(await loadAgent('agent.yml', { cwd: folder }), { input: 'Go.', model });
    await eventually(() => expect(existsSync(join(folder, 'effects.txt'))).toBe(true));
    await session.interrupt();
    change(folder);
    const agent = await loadAgent('agent.yml', { cwd: folder });
    const again = await runtime.resume(session.id, { agent, model, acceptChanges: true });
    const result = await again.result;
    return { result, events: await runtime.events(session.id), asked: model.prompts.slice(1).join('\n') };
  } finally {
    await runtime.close();
  }
}

const remove = (folder: string) =>
  writeFileSync(
    join(folder, 'agent.yml'),
    'kind: Agent\nname: tester\nmodel: scripted:none.yml\nimport: { tools: [./tools/note.yml] }\n',
  );

describe('a session whose tool in flight is gone from its changed manifest', () => {
  it('has the action interrupted, tells the model, and ends', async () => {
    const { result, events, asked } = await resumed('', remove);
    expect(result.status).toBe('completed');
    expect(events.filter(({ type }) => type === 'action.interrupted')).toHaveLength(1);
    expect(asked).toContain('interrupted');
  });

  it('has the action fail where it might have been run again, tells the model, and ends', async () => {
    const { result, events, asked } = await resumed('idempotent: true\n', remove);
    expect(result.status).toBe('completed');
    const ends = events.filter(({ type }) => type === 'action.failed' || type === 'action.interrupted');
    expect(ends).toHaveLength(1);
    expect(asked).toContain('charge');
  });
});
