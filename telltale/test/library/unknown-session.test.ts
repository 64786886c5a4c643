import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { openSessions } from '../../src/agent/open-sessions.ts';

const unknown = { code: 'session_unknown', message: expect.stringContaining('No session "ses_none"') };

it('whatever is asked of a session that is not there, the answer is the same', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'telltale-unknown-'));
  const store = `sqlite:${join(cwd, 'log.db')}`;
  const runtime = await createRuntime({ store, cwd });
  const sessions = await openSessions({ store, cwd });
  for (const { events, state, steer, cancel } of [runtime, sessions]) {
    await expect(events('ses_none')).rejects.toMatchObject(unknown);
    await expect(state('ses_none')).rejects.toMatchObject(unknown);
    await expect(steer('ses_none', 'Hello.')).rejects.toMatchObject(unknown);
    await expect(cancel('ses_none')).rejects.toMatchObject(unknown);
  }
  await expect(runtime.resume('ses_none')).rejects.toMatchObject(unknown);
  await sessions.close();
  await runtime.close();
});
