import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRuntime, defineAgent, defineTool } from '../../src/index.ts';
import { scripted } from '../../src/testing/scripted.ts';

it('a session whose last turn could not be recorded does not complete as if it had been', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'telltale-record-')), 'records');
  const breakIt = defineTool({
    name: 'break_it',
    run: () => {
      rmSync(folder, { recursive: true });
      writeFileSync(folder, 'no folder any more');
    },
  });
  const model = scripted([
    { text: '<action mode="sync">{"name":"break_it"}</action><response>Done.</response> and on', chunk: 1 },
  ]);
  const agent = await defineAgent({ name: 'recorded', model, tools: [breakIt] });
  const runtime = await createRuntime({ store: 'memory' });
  const session = runtime.start(agent, { input: 'Go.', record: join(folder, 'turns.yml') });
  expect(await session.result).toMatchObject({ status: 'failed', error: { code: 'record_failed' } });
  await runtime.close();
});
