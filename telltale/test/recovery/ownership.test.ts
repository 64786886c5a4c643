import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { labFolder } from './lab-tools.ts';
import { action } from './say.ts';
import { inspectScene, readJournal } from './scene.ts';
import { startVictim } from './victim-process.ts';

const SESSION = 'ses_owned';
const TIMEOUT_MS = 60_000;

describe('a session that a living process works on', () => {
  it(
    "is refused to a second one, with the first one's pid, and nothing is changed",
    async () => {
      // It waits for ten minutes: nothing happens on its log while the second process tries.
      const folder = labFolder([{ name: 'wait', idempotent: true, kind: 'module', ms: 600_000 }], {
        turns: [action('w', 'wait', {}, 'sync')],
      });
      const owner = startVictim({ folder, session: SESSION });
      try {
        await owner.seen('action.started');
        const before = await inspectScene(folder, SESSION);
        const second = await startVictim({ folder, session: SESSION }).life;
        expect(second.refused).toMatchObject({ code: 'stream_owned' });
        expect(second.refused?.message).toContain(`process ${owner.pid}`);
        expect(second.events).toEqual([]);
        expect((await inspectScene(folder, SESSION)).log).toEqual(before.log);
        expect(readJournal(folder).filter(({ what }) => what === 'start')).toHaveLength(1);
      } finally {
        owner.kill();
        await owner.life;
      }
      // Once the first is dead, the next may have it.
      const heir = startVictim({ folder, session: SESSION });
      try {
        expect(await heir.seen('action.started')).toMatchObject({ id: 'w', attempt: 2 });
      } finally {
        heir.kill();
        await heir.life;
      }
      rmSync(folder, { recursive: true });
    },
    TIMEOUT_MS,
  );
});
